"""What operators see when somebody asks for help: everything about one holder, without claims."""
