// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The kernel's types that the BPF program of `forebay attach` reads, for the loader of the program. The compiler writes
 * their description (BTF) into the object, which is not linked into the kernel. A description of the whole kernel would
 * need pahole, and debug information in every object.
 */
#include <linux/bpf.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>

struct sk_buff forebay_sk_buff;
struct net_device forebay_net_device;
struct Qdisc forebay_qdisc;
enum bpf_func_id forebay_func_id;
