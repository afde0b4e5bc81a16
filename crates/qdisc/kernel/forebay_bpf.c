// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The BPF program of `forebay attach` reads a backlog with bpf_probe_read_kernel(). Linux has this function only with
 * perf events, which User Mode Linux lacks.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/uaccess.h>

BPF_CALL_3(forebay_probe_read_kernel, void *, to, u32, size, const void *, from)
{
	int err = copy_from_kernel_nofault(to, from, size);

	if (err < 0)
		memset(to, 0, size);
	return err;
}

/* In place of a weak symbol of kernel/bpf/helpers.c. */
const struct bpf_func_proto bpf_probe_read_kernel_proto = {
	.func = forebay_probe_read_kernel,
	.gpl_only = true,
	.ret_type = RET_INTEGER,
	.arg1_type = ARG_PTR_TO_UNINIT_MEM,
	.arg2_type = ARG_CONST_SIZE_OR_ZERO,
	.arg3_type = ARG_ANYTHING,
};
