"""The paper's recipe to its end, with rates that training data chose."""
