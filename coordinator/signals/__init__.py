"""What is measured of a debate, as pure functions: beliefs, scores, progress, votes, reliability, and waiting times."""
