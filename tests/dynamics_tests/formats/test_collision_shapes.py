"""Shapes from files: URDF collision elements, meshes that capsules cover, spheres, allowed pairs."""

import itertools
import json
import warnings

import numpy as np
import pytest

import dynamics
from dynamics.formats.capsule_fit import fitted_capsules, volume
from problems import moves

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
{collisions}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def with_collisions(*geometries):
    elements = "".join(
        f'<collision><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
        f"<geometry>{each}</geometry></collision>"
        for each in geometries
    )
    return URDF.format(collisions=elements)


def inside(points, shape):
    """Distances of points from a capsule, m, negative within it."""
    local = (points - shape.position) @ shape.rotation
    along = np.clip(local[:, 2], -0.5 * shape.size[1], 0.5 * shape.size[1])
    return np.linalg.norm(local - along[:, None] * [0, 0, 1], axis=1) - shape.size[0]


def test_solids_are_read_as_they_are_written():
    text = with_collisions(
        '<sphere radius="0.1"/>', '<cylinder radius="0.1" length="0.4"/>', '<box size="0.1 0.2 0.3"/>'
    )
    ball, tube, block = dynamics.urdf_shapes(text)
    assert [shape.kind for shape in (ball, tube, block)] == ["sphere", "cylinder", "box"]
    np.testing.assert_array_equal(block.size, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(tube.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_array_equal(ball.position, [1, 2, 3])
    model = dynamics.load_urdf(text).with_shapes((ball, tube, block))
    assert {shape.carrier for shape in model.shapes} == {"upper"}


def test_solids_of_a_file_with_a_namespace_are_read():
    text = with_collisions('<sphere radius="0.1"/>', '<box size="0.1 0.2 0.3"/>')
    named = text.replace('<robot name="arm"', '<robot xmlns="http://example.org/robots" name="arm"')
    assert [shape.kind for shape in dynamics.urdf_shapes(named)] == ["sphere", "box"]
    assert len(dynamics.load_scene(named).shapes) == 2
    assert dynamics.load_urdf(named, masses={"upper": 2.0}).bodies[0].mass == 2.0


def test_a_scene_of_urdf_stands_where_fixed_joints_place_it():
    turned = '<origin xyz="0 0 0.7" rpy="0 0 1.5707963267948966"/>'
    top = '<visual><origin xyz="0.5 0 0"/><geometry><box size="1 0.4 0.05"/></geometry></visual>'
    cup = '<collision><origin xyz="0.1 0 0"/><geometry><sphere radius="0.04"/></geometry></collision>'
    text = (
        f'<robot name="table"><link name="room"/><link name="top">{top}</link><link name="cup">{cup}</link>'
        f'<joint name="a" type="fixed"><parent link="room"/><child link="top"/>{turned}</joint>'
        f'<joint name="b" type="fixed"><parent link="top"/><child link="cup"/>{turned}</joint></robot>'
    )
    with pytest.raises(dynamics.UrdfError, match="load_scene makes obstacles of it"):
        dynamics.load_urdf(text)
    by_kind = {shape.kind: shape for shape in dynamics.load_scene(text).shapes}
    np.testing.assert_allclose(by_kind["box"].position, [0.0, 0.5, 0.7], atol=1e-15)
    np.testing.assert_allclose(by_kind["sphere"].position, [-0.1, 0.0, 1.4], atol=1e-15)
    with pytest.raises(dynamics.UrdfError, match="there is no obstacle"):
        dynamics.load_scene(text.replace("visual>", "inside>").replace("collision>", "inside>"))


def test_solids_without_size_are_none():
    text = with_collisions('<sphere radius="0"/>', '<box size="0 0 0"/>', '<box size="0.1 0.2 0.3"/>')
    assert [shape.kind for shape in dynamics.urdf_shapes(text)] == ["box"]
    with pytest.raises(dynamics.UrdfError, match=r"a box's y is 0\.0 m"):
        dynamics.urdf_shapes(with_collisions('<box size="0.1 0 0.3"/>'))


@pytest.mark.long
def test_open_meshes_are_named_and_their_hull_is_covered(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box(extents=(0.1, 0.2, 0.4))
    box.export(tmp_path / "whole.stl")
    box.update_faces(np.arange(len(box.faces)) > 1)
    box.export(tmp_path / "half.stl")
    meshes = [f'<mesh filename="{name}.stl"/>' for name in ("whole", "half")]
    with pytest.warns(dynamics.MeshWarning, match=r"link 'upper', collision 1 \(half.stl\); the hull of"):
        whole_and_half = dynamics.urdf_shapes(with_collisions(*meshes), folders=[tmp_path])
    shapes = [shape for shape in whole_and_half if shape.kind == "capsule"]
    corners = np.array([[x, y, z] for x in (-0.05, 0.05) for y in (-0.1, 0.1) for z in (-0.2, 0.2)])
    placed = corners @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + [1, 2, 3]
    assert np.min([inside(placed, shape) for shape in shapes], axis=0).max() < 1e-9
    assert len(dynamics.urdf_shapes(with_collisions(meshes[0]), folders=[tmp_path])) > 0  # without a warning


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        ('<sphere radius="-1"/>', "collision 0.*radius is -1"),
        ("<sphere/>", "radius"),
        ('<cone radius="1"/>', "holds cone"),
        ("", "holds nothing"),
        (
            '<mesh filename="package://none/arm.stl"/>',
            "the mesh .package://none/arm.stl. is in none of the folders, as none is known: give "
            r"folders=\[...\], one of which holds none/arm.stl",
        ),
    ],
)
def test_elements_that_cannot_be_meant_are_named(geometry, message):
    with pytest.raises(dynamics.UrdfError, match=message):
        dynamics.urdf_shapes(with_collisions(geometry))


@pytest.mark.long
def test_a_missing_mesh_is_named_with_the_folders_searched_and_found_in_one_that_is_given(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    urdf, elsewhere = tmp_path / "here" / "arm.urdf", tmp_path / "there" / "arm" / "meshes"
    urdf.parent.mkdir()
    elsewhere.mkdir(parents=True)
    urdf.write_text(with_collisions('<mesh filename="package://arm/meshes/upper.stl"/>'))
    with pytest.raises(dynamics.UrdfError, match=r"none of the folders .*here.* holds arm/mesh"):
        moves.robot(urdf, shapes="fit")
    trimesh.creation.capsule(height=0.4, radius=0.05).export(elsewhere / "upper.stl")
    found = moves.robot(urdf, shapes="fit", folders=[tmp_path / "there"])
    (shape,) = found.model.shapes
    assert shape.size[0] == pytest.approx(0.05, rel=0.01)


@pytest.mark.long
def test_meshes_are_covered_and_left_out_on_demand(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    folder = tmp_path / "arm" / "meshes"
    folder.mkdir(parents=True)
    mesh = trimesh.creation.capsule(height=0.4, radius=0.05)
    mesh.export(folder / "upper.stl")
    (folder / "broken.stl").write_text("no mesh")
    text = with_collisions('<mesh filename="package://arm/meshes/upper.stl" scale="2 2 2"/>')
    (shape,) = dynamics.urdf_shapes(text, folders=[tmp_path])
    assert volume(shape) < 1.15 * mesh.volume * 8
    assert dynamics.urdf_shapes(text, meshes="skip") == ()
    (tmp_path / "arm" / "arm.urdf").write_text(text)
    assert len(dynamics.urdf_shapes(tmp_path / "arm" / "arm.urdf")) == 1  # found above the file's own folder
    with pytest.raises(dynamics.UrdfError, match=r"cannot be read|vertices"):
        dynamics.urdf_shapes(with_collisions('<mesh filename="broken.stl"/>'), folders=[folder])


def test_convex_meshes_of_few_corners_are_taken_as_they_are(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    box, bent = trimesh.creation.box((0.1, 0.2, 0.3)), trimesh.creation.annulus(0.05, 0.1, 0.2)
    box.apply_translation((0.05, 0.0, 0.0))
    box.export(tmp_path / "box.stl")
    bent.export(tmp_path / "ring.stl")
    text = with_collisions('<mesh filename="box.stl" scale="1 -2 1"/>', '<mesh filename="ring.stl"/>')
    flat, *capsules = dynamics.urdf_shapes(text, folders=[tmp_path])
    assert flat.kind == "hull" and {shape.kind for shape in capsules} == {"capsule"}
    corners = flat.points @ flat.rotation.T + flat.position
    np.testing.assert_allclose(corners.min(axis=0), (0.8, 2.0, 2.85), atol=1e-7)
    np.testing.assert_allclose(corners.max(axis=0), (1.2, 2.1, 3.15), atol=1e-7)
    both = dynamics.urdf_shapes(text, meshes="hull", folders=[tmp_path])
    assert [shape.kind for shape in both] == ["hull", "hull"]


def test_meshes_are_found_under_the_names_that_exporters_write(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "meshes" / "part ü.stl")
    for name in (
        "..\\meshes\\part ü.stl",
        "package://other\\meshes\\part%20%C3%BC.stl",
        "package://other//meshes/part ü.stl",
        "model://other/meshes/part ü.stl",
        f"file://{tmp_path.as_posix()}/meshes/part%20ü.stl",
    ):
        text = with_collisions(f'<mesh filename="{name}"/>')
        (shape,) = dynamics.urdf_shapes(text, folders=[tmp_path / "meshes", tmp_path])
        assert len(shape.points) == 8, name
    with pytest.raises(dynamics.UrdfError, match=r"there is '.*part ü\.stl': write its letters alike"):
        dynamics.urdf_shapes(with_collisions('<mesh filename="meshes/PART ü.stl"/>'), folders=[tmp_path])
    with pytest.raises(dynamics.UrdfError, match="path of another machine: write package://NAME/FILE"):
        dynamics.urdf_shapes(with_collisions('<mesh filename="C:\\me\\a.stl"/>'), folders=[tmp_path])


@pytest.mark.parametrize("name", ["a.stl", "a.obj", "a.dae", "a.urdf"])
def test_a_file_that_git_lfs_did_not_fetch_is_named_as_such(tmp_path, name):
    pytest.importorskip("trimesh")
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n")
    source = tmp_path / name if name == "a.urdf" else with_collisions(f'<mesh filename="{name}"/>')
    with pytest.raises(dynamics.UrdfError, match=r"is a pointer of Git LFS: .* git lfs pull"):
        dynamics.urdf_shapes(source, folders=[tmp_path])


@pytest.mark.parametrize(
    ("side", "scale", "length"), [(0.3, "1000", "300 m"), (300.0, "1", "300 m"), (0.3, "0.001", "0.0003 m")]
)
def test_a_mesh_of_a_size_that_no_link_has_is_named(tmp_path, side, scale, length):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((side, 0.5 * side, 0.5 * side)).export(tmp_path / "arm.stl")
    text = with_collisions(f'<mesh filename="arm.stl" scale="{scale} {scale} {scale}"/>')
    (tmp_path / "arm.urdf").write_text(text)
    message = (
        rf"collision 0 \(arm\.stl, {length}\): a file in millimetres needs scale=\"0\.001 0\.001 0\.001\""
    )
    with pytest.warns(dynamics.MeshWarning, match=message):
        dynamics.urdf_shapes(tmp_path / "arm.urdf")
    with pytest.warns(dynamics.MeshWarning, match=message):
        dynamics.load_urdf(tmp_path / "arm.urdf", masses={"upper": 1.0})


def test_meshes_of_collada_are_in_the_unit_that_they_state(tmp_path):
    pytest.importorskip("collada")
    (tmp_path / "inches.dae").write_text(block_of_collada((2.0, 4.0, 10.0), 'name="inch" meter="0.0254"'))
    (tmp_path / "metres.dae").write_text(block_of_collada((0.0508, 0.1016, 0.254), ""))
    corners, inertia = [], []
    for name in ("metres", "inches"):
        text = with_collisions(f'<mesh filename="{name}.dae" scale="1 1 3"/>')
        (tmp_path / f"{name}.urdf").write_text(text)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (shape,) = dynamics.urdf_shapes(tmp_path / f"{name}.urdf")
        corners.append(np.sort(shape.points @ shape.rotation.T + shape.position, axis=0))
        inertia.append(dynamics.load_urdf(tmp_path / f"{name}.urdf", masses={"upper": 3.0}).bodies[0].inertia)
    assert [str(each.message) for each in caught] == [  # of inches, none of metres
        "meshes whose files state another unit than m, which is taken: link 'upper', collision 0 "
        "(inches.dae, 0.0254 m): look at their size"
    ]
    np.testing.assert_allclose(np.ptp(corners[1], axis=0), (0.1016, 0.0508, 0.762), atol=1e-6)
    np.testing.assert_allclose(corners[1], corners[0], atol=1e-6)
    np.testing.assert_allclose(inertia[1], inertia[0], rtol=1e-5)


def test_a_mesh_whose_unit_is_no_length_is_refused(tmp_path):
    pytest.importorskip("collada")
    (tmp_path / "none.dae").write_text(block_of_collada((1.0, 1.0, 1.0), 'meter="0"'))
    with pytest.raises(dynamics.UrdfError, match=r"none\.dae' cannot be read: its unit is 0\.0 m"):
        dynamics.urdf_shapes(with_collisions('<mesh filename="none.dae"/>'), folders=[tmp_path])


def block_of_collada(sides, unit):
    """A block with a corner at the origin, as a COLLADA file."""
    points = " ".join(
        f"{x * sides[0]} {y * sides[1]} {z * sides[2]}" for x, y, z in itertools.product((0, 1), repeat=3)
    )
    faces = "0 1 3 0 3 2 4 6 7 4 7 5 0 4 5 0 5 1 2 3 7 2 7 6 0 2 6 0 6 4 1 5 7 1 7 3"
    axes = "".join(f'<param name="{axis}" type="float"/>' for axis in "XYZ")
    return (
        '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>'
        f"<created>2026-01-01</created><modified>2026-01-01</modified><unit {unit}/></asset>"
        '<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="24">'
        f'{points}</float_array><technique_common><accessor source="#a" count="8" stride="3">{axes}'
        "</accessor></technique_common></source>"
        '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        f'<triangles count="12"><input semantic="VERTEX" source="#v" offset="0"/><p>{faces}</p></triangles>'
        '</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node id="n">'
        '<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


@pytest.mark.parametrize(
    ("sides", "most"),
    [
        ((0.1, 0.1, 0.6), 2.6),
        ((0.2, 0.25, 0.3), 3.5),
        ((0.1, 0.1, 0.1), 3.0),
        ((0.3, 0.2, 0.02), 6.5),  # four of them: parts are cut again
    ],
)
def test_capsules_cover_the_hull_tightly(sides, most):
    rng = np.random.default_rng(0)
    corners = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * sides + [0.3, 0.2, 0.1]
    shapes = fitted_capsules(corners)
    points = rng.dirichlet(np.full(8, 0.2), 3000) @ corners
    assert np.min([inside(points, shape) for shape in shapes], axis=0).max() < 1e-12
    assert sum(map(volume, shapes)) / np.prod(sides) < most


def test_points_on_a_line_are_covered_by_a_thin_capsule():
    """Thickened by a ten-thousandth of their length."""
    line = np.linspace(0.0, 2.0, 5)[:, None] * [0.6, 0.0, 0.8]
    (capsule,) = fitted_capsules(line)
    assert inside(line, capsule).max() <= 0.0 and capsule.size[0] < 4e-4


@pytest.mark.long
def test_a_bent_hull_takes_several_capsules_and_a_flat_one_is_thickened():
    rng = np.random.default_rng(1)
    cone = rng.normal(size=(400, 3))
    cone[:, :2] /= np.linalg.norm(cone[:, :2], axis=1)[:, None]
    cone[:, 2] = np.linspace(0, 1, 400)
    cone[:, :2] *= 0.02 + 0.25 * cone[:, 2:]
    shapes = fitted_capsules(cone)
    assert len(shapes) > 1
    assert np.min([inside(cone, shape) for shape in shapes], axis=0).max() < 1e-12
    assert fitted_capsules(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]]))
    with pytest.raises(dynamics.UrdfError, match="one point"):
        fitted_capsules(np.zeros((5, 3)))


def test_spheres_and_allowed_pairs_of_json(tmp_path):
    file = tmp_path / "spheres.json"
    file.write_text(json.dumps({"hand": [[0, 0, 0.1, 0.05], [0, 0.1, 0, 0.02]]}))
    first, second = dynamics.load_spheres(file)
    assert (first.carrier, second.name, first.size.tolist()) == ("hand", "hand 1", [0.05])
    file.write_text(json.dumps({"hand": [[0, 0, 0.1]]}))
    with pytest.raises(dynamics.JsonError, match="spheres of 'hand'"):
        dynamics.load_spheres(file)
    file.write_text(json.dumps({"entry_names": ["a", "b"], "entry_values": [[True, True], [True, False]]}))
    assert dynamics.load_allowed_pairs(file) == (("a", "b"),)
    file.write_text("[1]")
    with pytest.raises(dynamics.JsonError, match="entry_names"):
        dynamics.load_allowed_pairs(file)
    with pytest.raises(dynamics.JsonError, match="cannot be read"):
        dynamics.load_spheres(tmp_path / "none.json")
