"""The pages of a question, of receipts and of requesters."""
