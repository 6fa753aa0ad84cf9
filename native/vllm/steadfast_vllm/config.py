"""The embedded policy's shape in the words of Transformers."""

from transformers import PretrainedConfig


class EmbeddedPolicyConfig(PretrainedConfig):
    """`head_width` is the model's own; `head_dim` is what the attention kernels are given (zero-padded)."""

    model_type = "steadfast_embedded"
    architecture = "EmbeddedPolicyForCausalLM"

    def __init__(
        self,
        vocab_size: int = 515,
        hidden_size: int = 96,
        num_hidden_layers: int = 2,
        num_attention_heads: int = 2,
        intermediate_size: int = 384,
        max_position_embeddings: int = 512,
        head_width: int = 48,
        head_dim: int = 64,
        **rest: object,
    ):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.num_attention_heads = num_attention_heads
        self.num_key_value_heads = num_attention_heads
        self.intermediate_size = intermediate_size
        self.max_position_embeddings = max_position_embeddings
        self.head_width = head_width
        self.head_dim = head_dim
        super().__init__(**{"tie_word_embeddings": False} | rest)
