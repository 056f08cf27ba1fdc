"""Echeandia's modified articulated-body algorithm, corrected: forward dynamics in O(N) with exact rotors."""

from __future__ import annotations

import numpy as np

from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.geared_joint import geared_joints, joint_states


def maba(model: KinematicTree, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Joint accelerations (n,), with exact rotors in O(N).

    Link (X, Phi, IA, pA, c) and rotor (XR, PhiR, IR, pR, cR) of a joint act on the parent together, in parent
    coordinates:

    U = X' IA Phi + XR' IR PhiR
    D = Phi' IA Phi + PhiR' IR PhiR
    u = tau - Phi' (pA + IA c) - PhiR' (pR + IR cR)
    parent's IA += X' IA X + XR' IR XR - U U' / D
    parent's pA += X' (pA + IA c) + XR' (pR + IR cR) + U u / D

    q, v, tau : (n,);  tau acts on the joint's coordinate: a motor torque tau / gear_ratio between parent and
        rotor
    model.rotors : "exact" is MABA, "none" is the plain articulated-body algorithm (Algorithm 3 of the thesis)

    Raises TreeError when joints share a coordinate.
    Source: Echeandia, thesis, ch. 4, derived anew; `maba_as_printed` lists what differs.
    """
    joints = geared_joints(model)
    links, rotors = joint_states(joints, q, v)
    kind = np.result_type(q, v, tau, float)
    IA = [state.inertia.astype(kind) for state in links]
    pA = [state.p.astype(kind) for state in links]
    U, D, u = [np.zeros(6)] * model.n, np.zeros(model.n, dtype=kind), np.zeros(model.n, dtype=kind)
    for i in reversed(range(model.n)):
        link, rotor, parent = links[i], rotors[i], joints[i].link.parent
        bias_force = pA[i] + IA[i] @ link.c
        U[i] = link.X.T @ IA[i] @ link.Phi
        D[i] = link.Phi @ IA[i] @ link.Phi + joints[i].armature
        u[i] = tau[i] - link.Phi @ bias_force
        inertia, force = link.X.T @ IA[i] @ link.X, link.X.T @ bias_force
        if rotor is not None:
            bias_force = rotor.p + rotor.inertia @ rotor.c
            U[i] = U[i] + rotor.X.T @ rotor.inertia @ rotor.Phi
            D[i] += rotor.Phi @ rotor.inertia @ rotor.Phi
            u[i] -= rotor.Phi @ bias_force
            inertia = inertia + rotor.X.T @ rotor.inertia @ rotor.X
            force = force + rotor.X.T @ bias_force
        if parent >= 0:
            IA[parent] = IA[parent] + inertia - np.outer(U[i], U[i]) / D[i]
            pA[parent] = pA[parent] + force + U[i] * u[i] / D[i]
    ground = np.concatenate([np.zeros(3), -model.gravity])
    acceleration, a = [], np.zeros(model.n, dtype=kind)
    for i, link in enumerate(links):
        parent = joints[i].link.parent
        carrier = acceleration[parent] if parent >= 0 else ground
        a[i] = (u[i] - U[i] @ carrier) / D[i]
        acceleration.append(link.X @ carrier + link.Phi * a[i] + link.c)
    return a
