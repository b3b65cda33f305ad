"""What operators sign in with, and what they see first: above all apps but the sandbox and `config`."""
