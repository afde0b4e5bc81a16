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
    // In virtual time every timer would be 1 ns late, and the 256th a step of the clock.
    Edit {
        file: "arch/um/kernel/time.c",
        from: "\tdelta += 1;",
        to: "\tif (!delta || time_travel_mode == TT_MODE_OFF)\n\t\tdelta += 1;",
        needed: false,
    },
    // Random numbers of the run: SplitMix64 from a seed.
    Edit { file: "arch/um/os-Linux/util.c", from: "\treturn getrandom(buf, len, flags);", to: RANDOM, needed: true },
    // Random numbers of qdiscs: those of a discipline if a comparison asks for them, else the kernel's.
    Edit {
        file: "include/net/red.h",
        from: "\treturn reciprocal_divide(get_random_u32(), p->max_P_reciprocal);",
        to: "\tu32 forebay_random_u32(void);\n\n\treturn reciprocal_divide(forebay_random_u32(), p->max_P_reciprocal);",
        needed: false,
    },
    Edit {
        file: "net/sched/sch_choke.c",
        from: "\tint retrys = 3;",
        to: "\tint retrys = 3;\n\tu32 forebay_random_below(u32 count);",
        needed: false,
    },
    Edit {
        file: "net/sched/sch_choke.c",
        from: "get_random_u32_below(choke_len(q))",
        to: "forebay_random_below(choke_len(q))",
        needed: false,
    },
    Edit {
        file: "net/sched/sch_pie.c",
        from: "\tget_random_bytes(&rnd, 8);",
        to: "\t{\n\t\tu64 forebay_random_u64(void);\n\n\t\trnd = forebay_random_u64();\n\t}",
        needed: false,
    },
    Edit {
        file: "net/sched/sch_sfb.c",
        from: "\tget_random_bytes(&q->bins[slot].perturbation,\n\t\t\t sizeof(q->bins[slot].perturbation));",
        to: "\tu64 forebay_random_u64(void);\n\n\tq->bins[slot].perturbation.key[0] = forebay_random_u64();\n\
             \tq->bins[slot].perturbation.key[1] = forebay_random_u64();",
        needed: false,
    },
    Edit {
        file: "net/sched/sch_sfb.c",
        from: "\tr = get_random_u16() & SFB_MAX_PROB;",
        to: "\t{\n\t\tu32 forebay_random_u32(void);\n\n\t\tr = forebay_random_u32() >> 16;\n\t}",
        needed: false,
    },
    Edit {
        file: "net/sched/sch_cake.c",
        from: "\t\tdrop |= (get_random_u32() < vars->p_drop);",
        to: "\t{\n\t\tu32 forebay_random_u32(void);\n\n\t\tdrop |= (forebay_random_u32() < vars->p_drop);\n\t}",
        needed: false,
    },
    // The same in Linux 7.3. As in older kernels, a number is drawn for packets that CoDel drops too.
    Edit {
        file: "net/sched/sch_cake.c",
        from: "vars->p_drop && reason == QDISC_DROP_UNSPEC &&\n\t    get_random_u32() < vars->p_drop)",
        to: "vars->p_drop && ({ u32 forebay_random_u32(void); forebay_random_u32(); }) < vars->p_drop &&\n\
             \t    reason == QDISC_DROP_UNSPEC)",
        needed: false,
    },
    Edit {
        file: "net/sched/sch_cake.c",
        from: "\tu16 host_load = 1;",
        to: "\tu16 host_load = 1;\n\tu32 forebay_random_u32(void);",
        needed: false,
    },
    Edit {
        file: "net/sched/sch_cake.c",
        from: "\t\tget_random_u16()) >> 16;",
        to: "\t\t(forebay_random_u32() >> 16)) >> 16;",
        needed: false,
    },
    // Records the packets that a qdisc drops from its queue.
    Edit {
        file: "net/core/skbuff.c",
        from: "void skb_release_head_state(struct sk_buff *skb)\n{\n",
        to: "extern const struct forebay *forebay_watched;\nvoid forebay_freed(const struct sk_buff *skb);\n\n\
             void skb_release_head_state(struct sk_buff *skb)\n{\n\tif (unlikely(forebay_watched))\n\
             \t\tforebay_freed(skb);\n\n",
        needed: true,
    },
    // The loader of BPF programs finds no perf events, and then calls the function by the number that it had before 5.5.
    Edit {
        file: "kernel/bpf/helpers.c",
        from: "\tcase BPF_FUNC_probe_read_kernel:\n",
        to: "\tcase BPF_FUNC_probe_read:\n\tcase BPF_FUNC_probe_read_kernel:\n",
        needed: false,
    },
    // Linux 7.3 has renamed ARG_CONST_SIZE_OR_ZERO, which `forebay_bpf.c` uses.
    Edit {
        file: "include/linux/bpf.h",
        from: "\tARG_MEM_SIZE_OR_ZERO,",
        to: "\tARG_MEM_SIZE_OR_ZERO,\n#define ARG_CONST_SIZE_OR_ZERO ARG_MEM_SIZE_OR_ZERO",
        needed: false,
    },
    // Code that no packet reaches: it compiles in two thirds of the time. Other files of this folder have checks of types
    // that need -O2.
    Edit {
        file: "kernel/bpf/Makefile",
        from: "obj-y := core.o\n",
        to: "CFLAGS_verifier.o := -O1\nobj-y := core.o\n",
        needed: false,
    },
    Edit {
        file: "fs/Makefile",
        from: "obj-y :=\topen.o",
        to: "subdir-ccflags-y += -O1\nobj-y :=\topen.o",
        needed: false,
    },
    Edit {
        file: "net/sched/Makefile",
        from: "obj-y\t:= sch_generic.o sch_mq.o",
        to: "always-y\t:= forebay_types.o\nCFLAGS_forebay_types.o := $(call cc-option,-gbtf)\n\
             obj-y\t:= sch_generic.o sch_mq.o sch_forebay.o sch_forebay_line.o sch_forebay_packets.o sch_forebay_records.o \
             sch_forebay_route.o sch_forebay_runtime.o forebay_bpf.o forebay_discipline.o",
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
