"""Cases of our own for tests of the bridge: every way in which a check can end."""

from thinkingbox.common import Judge, TestContext

"""!
scenario: shelf
"""


def test_passes(x: TestContext, judge: Judge):
    """!
    query: Put the novel on the shelf.
    user_context: It is a red one.
    bot_instructions: Ask for the color.
    max_user_sim_turns: 3
    max_agent_sim_turns: 7
    init: { shelf: { books: [novel] } }
    """
    assert x.effects["shelf"]["books"] == ["atlas", "novel"]
    assert x.response == "It stands there. <DONE>"
    assert [(c.tool_call.name, c.tool_response.content) for c in x.tool_calls] == [("put", "ok"), ("leave", "")]
    assert x.query() == "Put the novel on the shelf."
    assert x.transcript() == "User: Put the novel on the shelf.\n\nAssistant: It stands there. <DONE>"
    assert x.init_result == {"shelf": {"room": "study"}}
    print("seen")


def test_fails(x: TestContext, judge: Judge):
    """!
    query: Put the novel on the shelf.
    """
    assert x.effects["shelf"]["books"] == [], "the shelf should be empty\nbut it is not"


def test_raises(x: TestContext, judge: Judge):
    """!
    query: Put the novel on the shelf.
    """
    assert x.effects["shelf"]["missing"]


def test_asks(x: TestContext, judge: Judge):
    """!
    query: Put the novel on the shelf.
    """
    assert judge.text_yesno(x.response, "Is it polite?"), "not polite"
    assert judge.compare_yesno("a", "b", "Are they alike?") is False
    try:
        assert judge.yesno("Is it late?"), "not late"
    except Exception:
        pass


def test_motivates(x: TestContext, judge: Judge):
    """!
    query: Put the novel on the shelf.
    """
    answer = judge.text_yesno_with_motivation(x.response, "Is it polite?")
    assert answer["answer"], answer["motivation"]
    assert len(judge._decisions) == 1


def test_scores(x: TestContext, judge: Judge):
    """!
    query: Put the novel on the shelf.
    """
    return 0.25


def test_never_ends(x: TestContext, judge: Judge):
    """!
    query: Put the novel on the shelf.
    """
    import time

    time.sleep(3600)


def test_speaks(x: TestContext, judge: Judge):
    """!
    scenario: speaking_shelf
    query: Put the novel on the shelf.
    user_context: It is a red one.
    """
    assert x.tool_direct_responses == ["2 books stand on the shelf."], x.tool_direct_responses
    assert x.response.endswith("<DONE>"), x.response
    assert "2 books stand on the shelf." in x.transcript()
    answers = [c.tool_response.content for c in x.tool_calls]
    assert "books" in answers[0], answers
    assert "grams" not in answers[1], answers
