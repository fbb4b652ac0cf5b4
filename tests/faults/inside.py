"""System calls from inside another process, as code that it runs would make them: its sandbox decides. For x86-64 Linux."""
import ctypes
import os
import signal
import struct

SEIZE, INTERRUPT, GETREGS, SETREGS, SINGLESTEP, DETACH = 0x4206, 0x4207, 12, 13, 9, 17
WALL = 0x40000000
REGISTERS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base "
             "ds es fs gs").split()
ARGUMENTS = ("rdi", "rsi", "rdx", "r10", "r8", "r9")
LAYOUT = struct.Struct(f"{len(REGISTERS)}Q")
SCRATCH = 4096  # so far below the stack's end, and below its red zone
NUMBERS = {
    "open": 2, "mmap": 9, "socket": 41, "connect": 42, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "kill": 62,
    "ptrace": 101, "rename": 82, "mkdir": 83, "unlink": 87, "chmod": 90, "mount": 165, "keyctl": 250, "openat": 257,
    "unshare": 272, "perf_event_open": 298, "prlimit64": 302, "setns": 308, "process_vm_readv": 310, "bpf": 321,
    "userfaultfd": 323, "io_uring_setup": 425, "clone3": 435, "openat2": 437,
}

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Gone(Exception):
    """The process ended: by itself, or by what it tried."""


class Inside:
    """`with Inside(pid) as inside: inside.call("open", b"/etc/shadow", 0)`; all from one thread."""

    def __init__(self, pid):
        self.pid = pid

    def ptrace(self, request, data=None):
        if libc.ptrace(request, self.pid, None, data) < 0:
            raise Gone(os.strerror(ctypes.get_errno()))

    def wait(self):
        _, status = os.waitpid(self.pid, WALL)
        if not os.WIFSTOPPED(status):
            raise Gone(f"ended with {status:#x}")
        return os.WSTOPSIG(status)

    def registers(self):
        area = ctypes.create_string_buffer(LAYOUT.size)
        self.ptrace(GETREGS, area)
        return dict(zip(REGISTERS, LAYOUT.unpack(area.raw)))

    def set_registers(self, values):
        area = ctypes.create_string_buffer(LAYOUT.pack(*(values[name] for name in REGISTERS)), LAYOUT.size)
        self.ptrace(SETREGS, area)

    def gate(self):
        """The address of a `syscall` instruction."""
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as maps:
            for line in maps:
                if " r-xp " not in line or "libc.so" not in line:
                    continue
                begin, end = (int(part, 16) for part in line.split()[0].split("-"))
                at = os.pread(self.memory, end - begin, begin).find(b"\x0f\x05")
                if at >= 0:
                    return begin + at
        raise Gone("no libc in it")

    def __enter__(self):
        self.ptrace(SEIZE)
        self.ptrace(INTERRUPT)
        self.wait()
        self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDWR)
        self.before = self.registers()
        self.scratch = self.before["rsp"] - SCRATCH
        self.saved = os.pread(self.memory, SCRATCH // 2, self.scratch)
        self.syscall = self.gate()
        return self

    def __exit__(self, kind, *_):
        if kind is not Gone:
            os.pwrite(self.memory, self.saved, self.scratch)
            self.set_registers(self.before)
            self.ptrace(DETACH)
        os.close(self.memory)

    def call(self, name, *arguments):
        """What the call returns: a negative errno if it fails. Bytes are passed as the address of a copy."""
        values = dict(self.before, rax=NUMBERS[name], orig_rax=(1 << 64) - 1, rip=self.syscall)
        free = self.scratch
        for register, argument in zip(ARGUMENTS, (*arguments, 0, 0, 0, 0, 0, 0)):
            if isinstance(argument, bytes):
                os.pwrite(self.memory, argument + b"\0", free)
                argument, free = free, free + len(argument) // 16 * 16 + 16
            values[register] = argument & ((1 << 64) - 1)
        self.set_registers(values)
        while True:
            self.ptrace(SINGLESTEP)
            stopped_by = self.wait()
            if stopped_by == signal.SIGTRAP:
                break
        result = self.registers()["rax"]
        return result - (1 << 64) if result >> 63 else result
