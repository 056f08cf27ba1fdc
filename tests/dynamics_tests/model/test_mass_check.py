"""The check that every joint moves mass: pivots in O(links) against the mass matrix from its definition."""

import numpy as np
import pytest
from random_trees import SEEDS, random_tree
from tiers import every
from urdf_text import joint, link, robot

import dynamics
from dynamics.model.checks.mass_check import articulated_inertias, mass_matrix

# Of 64-bit numbers; the pivots of these trees are above 1e-4 of their diagonal.
ROUNDING = 1e-10


def chain(count, order=1):
    """A URDF of a chain; `order` -1 writes the links and joints from the tip to the base."""
    links = [link("link0", ""), *(link(f"link{i + 1}") for i in range(count))]
    axes = ("0 0 1", "0 1 0")
    joints = [
        joint(
            f"joint{i}",
            f"link{i}",
            f"link{i + 1}",
            content=f'<origin xyz="0.5 0 0"/><axis xyz="{axes[i % 2]}"/>',
        )
        for i in range(count)
    ]
    return robot(*links[::order], *joints[::order])


@every("seed", SEEDS[:12])
def test_pivots_and_diagonal_are_those_of_the_mass_matrix(seed):
    """M = U D U' with U upper triangular: factorised from the last joint to the first, D are the pivots."""
    model = random_tree(seed)
    generator = np.random.default_rng(0)
    for articulated, composite in articulated_inertias(model):
        q = generator.uniform(-1.5, 1.5, model.n)
        M = mass_matrix(model, q)
        flipped = np.linalg.cholesky(M[::-1, ::-1])
        pivots = np.diag(flipped)[::-1] ** 2
        np.testing.assert_allclose(articulated, pivots, rtol=ROUNDING, atol=0.0)
        np.testing.assert_allclose(composite, np.diag(M), rtol=ROUNDING, atol=0.0)


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("order", [1, -1])
def test_a_long_chain_loads_without_its_mass_matrix(count, order, monkeypatch):
    monkeypatch.setattr("dynamics.model.checks.mass_check.mass_matrix", None)  # 68 s of work for 2000 joints
    model = dynamics.load_urdf(chain(count, order))
    assert model.n == count and model.link_index(f"link{count}") == count - 1


def test_more_links_than_are_computed_with_are_refused_before_they_are_read():
    text = "<robot name='r'>" + "<link name='x'/>" * 10_001 + "</robot>"
    with pytest.raises(dynamics.UrdfError, match="10001 links; at most 10000"):
        dynamics.load_urdf(text)


@pytest.mark.long
def test_messages_about_many_names_are_short():
    separate = robot(*(link(f"link{i}") for i in range(300)))
    cycle = robot(
        link("base"),
        *(link(f"link{i}") for i in range(300)),
        *(joint(f"joint{i}", f"link{i}", f"link{(i + 1) % 300}") for i in range(300)),
    )
    model = dynamics.load_urdf(chain(300))
    for wrong in (
        lambda: dynamics.load_urdf(separate),
        lambda: dynamics.load_urdf(cycle),
        lambda: dynamics.load_urdf(robot(link("x" * 10**6), link("y"))),
        lambda: model.link_index("z" * 10**6),
        lambda: model.frame("none of them"),
        lambda: dynamics.RigidBodyModel([*model.bodies, dynamics.Body("b", dynamics.Joint("j"), "nobody")]),
    ):
        with pytest.raises(dynamics.DynamicsError) as caught:
            wrong()
        assert len(str(caught.value)) < 400, str(caught.value)[:500]


@pytest.mark.parametrize(
    "text", ["1_000", "\u0661\u0662", "0x10", "1e", "1,5", "", "\u00a01", "--1", "1e10", "nan"]
)
def test_numbers_are_those_of_other_readers_of_urdf(text):
    with pytest.raises(dynamics.UrdfError, match="damping"):
        dynamics.load_urdf(
            robot(link("a", ""), link("b"), joint("j", "a", "b", content=f'<dynamics damping="{text}"/>'))
        )


@pytest.mark.parametrize(
    ("text", "number"), [(" +1.5e-3 ", 1.5e-3), (".5", 0.5), ("2.", 2.0), ("1E2", 100.0)]
)
def test_numbers_as_other_readers_of_urdf_write_them_are_read(text, number):
    model = dynamics.load_urdf(
        robot(link("a", ""), link("b"), joint("j", "a", "b", content=f'<dynamics damping="{text}"/>'))
    )
    assert model.joints[0].damping == number
