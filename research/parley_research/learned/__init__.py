"""What is learned from past outcomes: fitted offline on one half of each set, reported on the other."""
