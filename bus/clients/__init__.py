"""The client of the bus library, made to move between servers and to send and receive fast."""
