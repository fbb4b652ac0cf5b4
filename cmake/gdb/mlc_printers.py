"""Printers for GDB: values of the project in their text forms.

  gdb -ix cmake/gdb/mlc_printers.py --args build/asan/tests/...      or, inside GDB:
  (gdb) source cmake/gdb/mlc_printers.py

Status and Result<T>, Digest, Config, TensorType, values and graphs of the graph IR, and types,
expressions, statements and kernels of the kernel IR. A kernel prints with the names of its buffers
and variables; a single expression or statement has numbers instead: b3 is buffers[3] and v7 is
vars[7] of its kernel. Statements and expressions that are rare show their name and fields instead
of the text form's spelling. The printers read memory only: they work on core files, too.
docs/how-to/debugging.md shows them in use.
"""

import re

import gdb
import gdb.printing

MAX_DEPTH = 40  # of nested expressions and statements


# The standard library's containers, read without its own printers.


def text_of(string):
    return string["_M_dataplus"]["_M_p"].string(
        errors="replace", length=int(string["_M_string_length"])
    )


def elements(vector):
    begin, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    return [begin[i] for i in range(int(end - begin))]


def pointee(shared):
    """What a shared_ptr points to, or None."""
    pointer = shared["_M_ptr"]
    return pointer.dereference() if int(pointer) != 0 else None


def alternative(variant):
    """The value that a std::variant holds."""
    held = variant.type.strip_typedefs().template_argument(int(variant["_M_index"]))
    return variant["_M_u"].address.cast(held.unqualified().pointer()).dereference()


def entries(tree):
    """Keys and values of a std::map, by the printers of the standard library; None without them."""
    printer = gdb.default_visualizer(tree)
    if printer is None or not hasattr(printer, "children"):
        return None
    flat = [value for _, value in printer.children()]
    return list(zip(flat[::2], flat[1::2]))


# Spellings.


def word(enumerator):
    """kLessEqual: less_equal. A number stays what it is."""
    name = str(enumerator).rsplit("::", 1)[-1]
    if not re.match(r"k[A-Z]", name):
        return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[1:]).lower()


def type_name(value):
    return str(value.type.strip_typedefs().unqualified()).rsplit("::", 1)[-1]


def dtype_text(dtype):
    return word(dtype).replace("_", "")


def ir_type_text(value):
    lanes = int(value["lanes"])
    return dtype_text(value["dtype"]) + (f"x{lanes}" if lanes != 1 else "")


def numbers(vector):
    return ",".join(str(int(n)) for n in elements(vector))


def tensor_type_text(value):
    strides = numbers(value["strides"])
    return f"{dtype_text(value['dtype'])}[{numbers(value['dims'])}]" + (
        f"{{{strides}}}" if strides else ""
    )


def status_text(value):
    code = word(value["code_"]).upper()
    return "OK" if code == "OK" else f"{code}: {text_of(value['message_'])}"


def digest_text(value):
    return f"{int(value['high']):016x}{int(value['low']):016x}"


def config_text(value):
    words = [f"{text_of(value['family'])}/{int(value['version'])}"]
    words += [
        f"{text_of(knob['first'])}={int(knob['second'])}" for knob in elements(value["knobs"])
    ]
    words += [
        f"{text_of(pair['first'])}={text_of(pair['second'])}" for pair in elements(value["words"])
    ]
    return " ".join(words)


# The kernel IR.


class KernelText:
    """Renders expressions and statements, with the names of a kernel where there is one."""

    def __init__(self, kernel=None):
        buffers = elements(kernel["buffers"]) if kernel is not None else []
        self.buffers = [text_of(buffer["name"]) for buffer in buffers]
        # Whose loads say no lanes: the buffer has as many.
        self.registers = {i for i, buffer in enumerate(buffers) if int(buffer["lanes"]) > 1}
        self.vars = [text_of(v) for v in elements(kernel["vars"])] if kernel is not None else []

    def var(self, number):
        number = int(number)
        return self.vars[number] if number < len(self.vars) else f"v{number}"

    def buffer(self, number):
        number = int(number)
        return self.buffers[number] if 0 <= number < len(self.buffers) else f"b{number}"

    def reference(self, shared, depth):
        value = pointee(shared)
        return "null" if value is None else self.expr(value, depth)

    def expr(self, expr, depth=0):
        if depth > MAX_DEPTH:
            return "..."
        node, kind = alternative(expr["node"]), ir_type_text(expr["type"])
        name, below = type_name(node), depth + 1
        if name == "IntImm":
            value = str(int(node["value"]))
            return value if kind == "i64" else f"{kind}({value})"
        if name == "FloatImm":
            return f"{kind}({float(node['value'])!r})"
        if name == "VarRef":
            return self.var(node["var"])
        if name == "Apply":
            args = ", ".join(self.reference(arg, below) for arg in elements(node["args"]))
            return f"{word(node['op'])}({args})"
        if name == "Broadcast":
            return (
                f"broadcast({self.reference(node['value'], below)}, {int(expr['type']['lanes'])})"
            )
        if name == "Cast":
            return (
                f"cast({dtype_text(expr['type']['dtype'])}, {self.reference(node['value'], below)})"
            )
        if name == "Load":
            lanes = int(expr["type"]["lanes"])
            wide = lanes != 1 and int(node["buffer"]) not in self.registers
            extra = f", lanes={lanes}" if wide else ""
            place = self.reference(node["index"], below) + extra + self.access(node, below)
            return f"{self.buffer(node['buffer'])}[{place}]"
        return self.plain(node, below)

    def access(self, node, depth):
        """Stride and mask of a load or store, if they are not the usual ones."""
        stride, mask = int(node["stride"]), pointee(node["mask"])
        return (f", stride={stride}" if stride != 1 else "") + (
            f", mask={self.expr(mask, depth)}" if mask is not None else ""
        )

    def plain(self, node, depth):
        """A node of any other kind: its name and fields."""
        fields = []
        for field in node.type.strip_typedefs().fields():
            value, kind = node[field.name], str(field.type)
            if kind.endswith("ExprRef"):
                fields.append(f"{field.name}={self.reference(value, depth)}")
            elif kind.endswith("BufferId"):
                fields.append(f"{field.name}={self.buffer(value)}")
            elif kind.endswith("VarId"):
                fields.append(f"{field.name}={self.var(value)}")
            elif field.type.strip_typedefs().code == gdb.TYPE_CODE_ENUM:
                fields.append(f"{field.name}={word(value)}")
            else:
                fields.append(f"{field.name}={value}")
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type_name(node)).lower()
        return name + (f"({', '.join(fields)})" if fields else "")

    def stmt(self, stmt, indent=""):
        if len(indent) > 2 * MAX_DEPTH:
            return indent + "...\n"
        node = alternative(stmt["node"])
        name = type_name(node)
        if name == "Block":
            return "".join(self.statement(part, indent) for part in elements(node["body"]))
        if name == "For":
            kind, step = word(node["kind"]), int(node["step"])
            head = (
                (kind + " " if kind != "serial" else "")
                + f"for {self.var(node['var'])} in "
                + f"{self.reference(node['begin'], 0)} .. {self.reference(node['end'], 0)}"
                + (f" step {step}" if step != 1 else "")
            )
            return f"{indent}{head} {{\n{self.statement(node['body'], indent + '  ')}{indent}}}\n"
        if name == "If":
            text = f"{indent}if {self.reference(node['condition'], 0)} {{\n" + self.statement(
                node["then_body"], indent + "  "
            )
            if pointee(node["else_body"]) is not None:
                text += f"{indent}}} else {{\n" + self.statement(node["else_body"], indent + "  ")
            return text + indent + "}\n"
        if name == "Let":
            return f"{indent}let {self.var(node['var'])} = {self.reference(node['value'], 0)}\n"
        if name == "Store":
            place = self.reference(node["index"], 0) + self.access(node, 0)
            value = self.reference(node["value"], 0)
            return f"{indent}{self.buffer(node['buffer'])}[{place}] = {value}\n"
        return indent + self.plain(node, 0) + "\n"

    def statement(self, shared, indent):
        value = pointee(shared)
        return indent + "null\n" if value is None else self.stmt(value, indent)


def buffer_text(value):
    lanes = int(value["lanes"])
    scope = word(value["scope"]).replace("register", "reg")
    kind = dtype_text(value["dtype"]) + (f"x{lanes}" if lanes != 1 else "")
    return f"{scope} {text_of(value['name'])}: {kind}[{int(value['size'])}]"


def kernel_text(value):
    text = KernelText(value)
    lines = "".join(f"  {buffer_text(buffer)}\n" for buffer in elements(value["buffers"]))
    phases = "".join(text.statement(phase, "  ") for phase in elements(value["phases"]))
    return f"kernel {text_of(value['name'])} {{\n{lines}{phases}}}"


# The graph.


def attribute_text(value):
    held = alternative(value)
    kind = str(held.type.strip_typedefs())
    if "basic_string" in kind:
        return text_of(held)
    if "vector" in kind:
        return "[" + ",".join(str(n) for n in elements(held)) + "]"
    return str(held)


def value_text(value):
    op = word(value["op"])
    if op == "pointwise":
        op = word(value["scalar"])
    operands = ", ".join("_" if int(v) < 0 else f"%{int(v)}" for v in elements(value["operands"]))
    attributes = entries(value["attrs"])
    if attributes is None:
        shown = " {...}"
    else:
        shown = ", ".join(
            f"{text_of(key)}={attribute_text(attribute)}" for key, attribute in attributes
        )
        shown = f" {{{shown}}}" if shown else ""
    return f"{op}({operands}){shown} : {tensor_type_text(value['type'])}"


class TextPrinter:
    def __init__(self, value, render):
        self.value, self.render = value, render

    def to_string(self):
        return self.render(self.value)


class ResultPrinter:
    """The value as a child, or the status."""

    def __init__(self, value):
        payload = value["value_"]["_M_payload"]
        self.ok = bool(payload["_M_engaged"])
        self.status = value["status_"]
        self.held = payload["_M_payload"]["_M_value"]

    def to_string(self):
        return "ok" if self.ok else status_text(self.status)

    def children(self):
        return iter([("value", self.held)] if self.ok else [])


class GraphPrinter:
    """One line a value, numbered as in the text form."""

    def __init__(self, value):
        self.values = elements(value["values_"])
        self.outputs = ", ".join(f"%{int(v)}" for v in elements(value["outputs_"]))

    def to_string(self):
        return f"graph of {len(self.values)} values, returns {self.outputs or 'nothing'}"

    def children(self):
        return ((f"%{number}", value) for number, value in enumerate(self.values))


def printers():
    table = gdb.printing.RegexpCollectionPrettyPrinter("mlc-tune")

    def text(pattern, render):
        table.add_printer(pattern, pattern, lambda value: TextPrinter(value, render))

    text(r"^mlc::Status$", status_text)
    table.add_printer("Result", r"^mlc::Result<.*>$", ResultPrinter)
    text(r"^mlc::Digest$", digest_text)
    text(r"^mlc::schedule::Config$", config_text)
    text(r"^mlc::graph::TensorType$", tensor_type_text)
    text(r"^mlc::graph::Value$", value_text)
    table.add_printer("Graph", r"^mlc::graph::Graph$", GraphPrinter)
    text(r"^mlc::ir::Type$", ir_type_text)
    text(r"^mlc::ir::Buffer$", buffer_text)
    text(r"^mlc::ir::Expr$", lambda value: KernelText().expr(value))
    text(r"^mlc::ir::Stmt$", lambda value: "\n" + KernelText().stmt(value).rstrip("\n"))
    text(
        r"^std::shared_ptr<mlc::ir::Expr( const)?>$", lambda value: KernelText().reference(value, 0)
    )
    text(
        r"^std::shared_ptr<mlc::ir::Stmt( const)?>$",
        lambda value: "\n" + KernelText().statement(value, "").rstrip("\n"),
    )
    text(r"^mlc::ir::Kernel$", kernel_text)
    return table


def register(objfile):
    gdb.printing.register_pretty_printer(objfile, printers(), replace=True)


# GDB asks the printers of object files before the general ones, in the order of loading. Those of
# the program so come before the standard library's for shared_ptr, which holds expressions.
register(None)
for loaded in gdb.objfiles():
    register(loaded)
gdb.events.new_objfile.connect(lambda event: register(event.new_objfile))
