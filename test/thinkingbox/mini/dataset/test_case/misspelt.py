"""!
scenario: shelf
"""


def test_misspelt(x, judge):
    """!
    querry: Hello
    """
