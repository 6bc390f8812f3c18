"""Gates on the evidence of an argument, compared on 100 labelled quotations (research/parley_research/quotations)."""
