def test_broken(x, judge)
    """!
    scenario: shelf
    """
