"""Small URDFs, put together from pieces."""

INERTIAL = """<inertial><origin xyz="0.25 0 0"/><mass value="1"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>"""


def link(name, content=INERTIAL):
    return f'<link name="{name}">{content}</link>'


def joint(name, parent, child, kind="revolute", content='<axis xyz="0 0 1"/>'):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{content}</joint>'


def robot(*parts):
    return '<robot name="r">' + "".join(parts) + "</robot>"


def one_joint(content='<axis xyz="0 0 1"/>', kind="revolute", *more):
    return robot(link("base", ""), link("arm"), joint("j", "base", "arm", kind, content), *more)


def transmission(joints=("j",), actuator="<mechanicalReduction>50</mechanicalReduction>"):
    driven = "".join(f'<joint name="{name}"/>' for name in joints)
    return f'<transmission name="t">{driven}<actuator name="m">{actuator}</actuator></transmission>'
