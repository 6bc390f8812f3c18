"""What packages add to the tables of Parley."""
