"""What cases import."""

from thinkingbox.common.chat_types import TestContext
from thinkingbox.common.judge import Judge
from thinkingbox.common.mcp_proxy_client import SessionClientFixture

__all__ = ["Judge", "SessionClientFixture", "TestContext"]
