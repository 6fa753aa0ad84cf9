"""Cases of our own of every form: two servers, fixtures, a history, words that depend on the start state."""

from thinkingbox.common import Judge, TestContext

"""!
scenario: rooms
"""


def test_two_servers(x: TestContext, judge: Judge):
    """!
    query: Put the novel away.
    """
    assert x.effects["rack"]["books"] == ["novel"], x.effects
    assert x.effects["shelf"]["books"] == ["atlas"], x.effects


def test_fixtures(x: TestContext, judge: Judge, ruler, builder, lamp, session):
    """!
    query: Put the novel away.
    """
    assert (ruler.unit, builder.tool, lamp) == ("inch", "builder with inch", "60 watts")
    session.set_session(x.session_id)
    found = session.call_json_tool("rack", "weigh", {"title": "novel", "notes": {"grams": 300.0}})
    assert found == {"grams": "300.0"}, found
    assert session.call_json_tool("shelf", "__reserved__geteffects", {})["books"] == ["atlas"]


def test_history(x: TestContext, judge: Judge):
    """!
    query: And the atlas?
    history: "earlier:0:"
    """
    assert x.effects["rack"]["books"] == ["novel", "atlas"], x.effects
    assert [c.tool_call.arguments["title"] for c in x.tool_calls] == ["atlas"], x.tool_calls
    assert x.query() == "Put the novel away."
    assert x.transcript().count("Assistant:") == 2, x.transcript()


def test_formatted(x: TestContext, judge: Judge):
    """!
    query: What is in the {init[rack][room]}?
    user_context: You stand in the {init[shelf][room]}.
    bot_instructions: The rack is in the {init[rack][room]}.
    format_query: true
    """
    assert x.query() == "What is in the hall?"
    assert x.messages[0].content and x.messages[1].content == "The rack is in the hall.", x.messages


def test_exact(x: TestContext, judge: Judge):
    """!
    query: What does it weigh?
    """
    assert x.effects["rack"]["weights"] == {"novel": {"grams": "300.0"}}, x.effects
    assert repr(x.tool_calls[0].tool_call.arguments["notes"]["grams"]) == "300.0"


def test_ends(x: TestContext, judge: Judge):
    """!
    query: Where are you?
    """
    assert [c.tool_call.name for c in x.tool_calls] == ["where"]
    assert x.tool_calls[0].tool_response.content == ""
