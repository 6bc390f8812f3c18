"""What settings plan, and the stack or bus that they lead to."""
