//! Changes of the kernel's source before it is built: text in a file, and its replacement.

/// A change of a file.
pub(super) struct Edit {
    /// Path in the source tree.
    pub(super) file: &'static str,
    /// Text that occurs once.
    pub(super) from: &'static str,
    /// Its replacement.
    pub(super) to: &'static str,
    /// Is the change necessary? Other versions of the kernel may lack the text.
    pub(super) needed: bool,
}

pub(super) const EDITS: &[Edit] = &[
    // Timers of TCP are rounded to ticks. Distributions use 250 or 1000 a second.
    Edit {
        file: "arch/um/Kconfig",
        from: "config HZ\n\tint\n\tdefault 100\n",
        to: "config HZ\n\tint\n\tdefault 1000\n",
        needed: true,
    },
    // The extended state of a CPU with AMX takes 11 KB. The host accepts only the complete state.
    Edit { file: "arch/x86/um/user-offsets.c", from: "2696", to: "12288", needed: false },
    // This state is in the registers that an interrupt passes on. Clearing it takes a third of the CPU time.
    Edit {
        file: "arch/um/os-Linux/signal.c",
        from: "\t\tmemset(&regs, 0, sizeof(regs));",
        to: "\t\tmemset(regs.gp, 0, sizeof(regs.gp)), regs.syscall = -1, regs.is_user = 0;",
        needed: false,
    },
    // The kernel tests the host's ptrace with a stopped child, which would remain if the kernel were killed then.
    Edit {
        file: "arch/um/os-Linux/start_up.c",
        from: "\tif (change_sig(SIGWINCH, 0) < 0 ||\n\t    ptrace(PTRACE_TRACEME",
        to: "\tos_set_pdeathsig();\n\tif (change_sig(SIGWINCH, 0) < 0 ||\n\t    ptrace(PTRACE_TRACEME",
        needed: false,
    },
    // Random numbers of the run: SplitMix64 from a seed.
    Edit { file: "arch/um/os-Linux/util.c", from: "\treturn getrandom(buf, len, flags);", to: RANDOM, needed: true },
    Edit {
        file: "net/sched/Makefile",
        from: "obj-y\t:= sch_generic.o sch_mq.o",
        to: "obj-y\t:= sch_generic.o sch_mq.o sch_forebay.o forebay_discipline.o",
        needed: true,
    },
];

const RANDOM: &str = "\tstatic unsigned long long state;
\tstatic int begun;
\tunsigned char *at = buf;
\tsize_t n;

\t(void)flags;
\tif (!begun) {
\t\tconst char *seed = getenv(\"FOREBAY_SEED\");

\t\tstate = seed ? strtoull(seed, NULL, 16) : 1;
\t\tbegun = 1;
\t}
\tfor (n = 0; n < len; n++) {
\t\tunsigned long long z = (state += 0x9e3779b97f4a7c15ULL);

\t\tz = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
\t\tz = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
\t\tat[n] = z ^ (z >> 31);
\t}
\treturn len;";
