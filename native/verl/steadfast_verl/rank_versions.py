"""The part of a sampler that the ranks' memory decides: versions are there while the ranks that hold them live."""

from steadfast_torch.versions import VersionedSampler, Versions

from .workers import Weights, Workers


class RankVersions(VersionedSampler[Weights]):
    def __init__(self, workers: Workers, versions: int):
        self._workers = workers
        super().__init__(Versions(versions, lambda _name: None))

    def names(self) -> list[str]:
        return [name for name in super().names() if self._workers.alive(self.weights(name))]

    async def publish(self, name: str, weights: Weights) -> None:
        self._workers.require(weights)
        self._versions.publish(name, weights)
