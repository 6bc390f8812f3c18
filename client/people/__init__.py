"""What people do in sessions, whatever they sit at: answer what waits for them, take a seat."""
