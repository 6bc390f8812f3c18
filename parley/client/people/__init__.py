"""What people do in sessions, in any interface: they answer open questions and take seats."""
