// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The fast path of `forebay attach`, at the egress of a device, before its only qdisc. It reads the backlog of that
// qdisc, marks or drops with the probability last written by the daemon, and counts. It makes no decision of its own.
//
// `cargo xtask bpf` compiles it into aqm.bpf.o in this directory. The fields of `settings` and `tally` match those in
// crates/live/src/attach/kernel/words.rs. All are u64, so both sides use the same layout.

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// The kernel fields that are read. The loader relocates them for the running kernel (CO-RE).
struct qdisc_skb_head {
	unsigned int qlen;
} __attribute__((preserve_access_index));

struct gnet_stats_queue {
	unsigned int backlog;
} __attribute__((preserve_access_index));

struct Qdisc {
	struct gnet_stats_queue qstats;
} __attribute__((preserve_access_index));

struct net_device {
	struct Qdisc *qdisc;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
} __attribute__((preserve_access_index));

// In force until the daemon writes new values.
struct settings {
	__u64 p;        // Signal probability in units of 2^-32; 2^32 means always.
	__u64 q0;       // Bytes; if above 0, the probability is p * backlog / q0.
	__u64 mean;     // Bytes; if above 0, the probability is multiplied by length / mean.
	__u64 ecn;      // Mark ECT packets instead of dropping them?
	__u64 updated;  // Time of the last write, CLOCK_MONOTONIC, ns.
	__u64 patience; // How long the values stay in force, ns.
};

// Counters since the program was loaded, per CPU. GSO packets count as the segments sent on the wire.
struct tally {
	__u64 offered_pkts, offered_bytes;
	__u64 passed_pkts, passed_bytes; // Including marked.
	__u64 marked_pkts, marked_bytes;
	__u64 dropped_pkts, dropped_bytes;
	__u64 unruled_pkts; // Passed because the settings had expired.
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} tallies SEC(".maps");

#define ALWAYS (1ULL << 32)
// Limit of p before it is multiplied by the length, so that the product fits: 2^40 times a length below 2^24.
#define MOST (1ULL << 40)

static __always_inline __u64 at_most(__u64 value, __u64 most)
{
	return value < most ? value : most;
}

// Backlog of the device's qdisc in bytes.
static __always_inline __u64 backlog(struct __sk_buff *ctx)
{
	// The context of this program type is the kernel's sk_buff itself.
	struct sk_buff *skb = (struct sk_buff *)ctx;

	return BPF_CORE_READ(skb, dev, qdisc, qstats.backlog);
}

// Signal probability in units of 2^-32.
static __always_inline __u64 probability(struct __sk_buff *ctx, const struct settings *now, __u64 len)
{
	__u64 p = at_most(now->p, ALWAYS);
	__u64 q0 = now->q0, mean = now->mean;

	if (p && q0)
		p = at_most(p * at_most(backlog(ctx), ALWAYS - 1) / q0, MOST);
	if (p && mean)
		p = p * at_most(len, (1 << 24) - 1) / mean;
	return p;
}

// Is the packet already CE-marked? Both bits of the ECN field are set then.
static __always_inline int experienced(struct __sk_buff *ctx)
{
	__u8 head[2];

	if (bpf_skb_load_bytes_relative(ctx, 0, head, sizeof(head), BPF_HDR_START_NET))
		return 0;
	if (ctx->protocol == bpf_htons(0x0800))
		return (head[1] & 3) == 3;
	if (ctx->protocol == bpf_htons(0x86dd))
		return (head[1] & 0x30) == 0x30;
	return 0;
}

// The coarse clock is precise enough and cheaper. Kernels before 5.11 only have the other one.
static __always_inline __u64 clock(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_ktime_get_coarse_ns))
		return bpf_ktime_get_coarse_ns();
	return bpf_ktime_get_ns();
}

// Sets CE if the packet is ECT. A shared header is made private first.
static __always_inline int mark(struct __sk_buff *ctx)
{
	return bpf_skb_ecn_set_ce(ctx) || (!bpf_skb_pull_data(ctx, 0) && bpf_skb_ecn_set_ce(ctx));
}

SEC("classifier")
int forebay(struct __sk_buff *ctx)
{
	__u32 zero = 0;
	const struct settings *now = bpf_map_lookup_elem(&settings, &zero);
	struct tally *tally = bpf_map_lookup_elem(&tallies, &zero);
	__u64 len = ctx->wire_len, pkts = ctx->gso_segs ? ctx->gso_segs : 1, p;

	if (!now || !tally)
		return TC_ACT_UNSPEC;
	tally->offered_pkts += pkts;
	tally->offered_bytes += len;
	// The daemon's timestamp may be slightly ahead of the coarse clock.
	if ((__s64)(clock() - now->updated) > (__s64)now->patience) {
		tally->unruled_pkts += pkts;
	} else if ((p = probability(ctx, now, len)) && bpf_get_prandom_u32() < p) {
		int had = now->ecn && experienced(ctx);

		if (!had && !(now->ecn && mark(ctx))) {
			tally->dropped_pkts += pkts;
			tally->dropped_bytes += len;
			return TC_ACT_SHOT;
		}
		// A packet that already had CE is not one of our marks.
		if (!had) {
			tally->marked_pkts += pkts;
			tally->marked_bytes += len;
		}
	}
	tally->passed_pkts += pkts;
	tally->passed_bytes += len;
	// Continue with the next program or filter.
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
