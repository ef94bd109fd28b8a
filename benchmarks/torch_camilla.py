"""Camilla's published training in PyTorch, as one would plainly write it."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from parts import Cells


class Camilla(nn.Module):
    """p = network(b q ∘ (A − D)) with dropout after each hidden layer."""

    def __init__(self, n_learners: int, n_samples: int, n_skills: int = 5) -> None:
        super().__init__()
        self.ability = nn.Embedding(n_learners, n_skills)
        self.skill_mask = nn.Embedding(n_samples, n_skills)
        self.difficulty = nn.Embedding(n_samples, n_skills)
        self.discrimination = nn.Embedding(n_samples, 1)
        self.network = nn.Sequential(
            nn.Linear(n_skills, 128), nn.Sigmoid(), nn.Dropout(0.5),
            nn.Linear(128, 64), nn.Sigmoid(), nn.Dropout(0.5),
            nn.Linear(64, 1), nn.Sigmoid(),
        )  # fmt: skip
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.xavier_normal_(parameter)

    def forward(self, learner: Tensor, sample: Tensor) -> Tensor:
        gap = torch.sigmoid(self.ability(learner)) - torch.sigmoid(self.difficulty(sample))
        mask = torch.softmax(self.skill_mask(sample), dim=-1)
        return self.network(torch.sigmoid(self.discrimination(sample)) * mask * gap)[:, 0]

    def clamp(self) -> None:
        with torch.no_grad():
            for layer in self.network:
                if isinstance(layer, nn.Linear):
                    layer.weight.clamp_(min=0)


def epochs(train: Cells, valid: Cells) -> Iterator[Tensor]:
    """Trains for ever; after each epoch the probabilities of the validation cells."""
    batches = DataLoader(_tensors(train), batch_size=256, shuffle=True)
    held_out = DataLoader(_tensors(valid), batch_size=256)
    model = Camilla(train.n_learners, train.n_samples)
    adam = torch.optim.Adam(model.parameters(), lr=0.005)
    loss = nn.BCELoss()
    while True:
        model.train()
        for learner, sample, response in batches:
            adam.zero_grad()
            loss(model(learner, sample), response).backward()
            adam.step()
            model.clamp()
        model.eval()
        with torch.no_grad():
            yield torch.cat([model(learner, sample) for learner, sample, _ in held_out])


def _tensors(cells: Cells) -> TensorDataset:
    learner, sample = torch.from_numpy(cells.learner), torch.from_numpy(cells.sample)
    return TensorDataset(learner, sample, torch.from_numpy(cells.response).float())
