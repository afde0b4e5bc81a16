// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A qdisc for a User Mode Linux kernel, in four roles:
 *   0  a discipline of Forebay holds the packets (crates/qdisc/src/sys/exports.rs);
 *   1  a qdisc of Linux holds them, as a child of this one;
 *   2  packets enter the network: they get a number; a child holds them;
 *   3  packets leave the network.
 * Every role records what happens to packets. The records go through a buffer to a descriptor of the host, and so do
 * texts that the guest's programs write to /proc/forebay. crates/linux/src/records.rs reads them.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/uaccess.h>
#include <net/ip.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sock.h>
#include <os.h>

/* The descriptor of the host, and the number of bytes that are written to it at once. */
#define OUT 100
#define BUFFER (64 << 10)
/* The run ends with a message before less of a kernel stack than this is left. */
#define STACK_RESERVE (16 << 10)
#define MOST_PROBES 32

struct forebay_order {
	const u8 *spec;
	size_t spec_len;
	const u8 *link;
	size_t link_len;
	u64 seed;
	u64 rate;
	u64 limit;
	u32 limit_in_bytes;
	u32 mean_packet;
};

struct forebay_packet {
	u32 slot;
	u32 len;
	u32 flow;
	u32 pair;
	u8 class;
	u8 proto;
	u8 ecn;
	u8 pad;
};

/* crates/qdisc/src/sys/exports.rs */
void *forebay_new(const struct forebay_order *order, u8 *why, size_t why_len);
int forebay_retune(void *queue, const struct forebay_order *order, u8 *why, size_t why_len);
void forebay_end(void *queue);
void forebay_advance(void *queue, u64 now);
void forebay_arrive(void *queue, u64 now, const struct forebay_packet *packet);
int forebay_dropped(void *queue, int *overflow);
int forebay_depart(void *queue, u64 now, int *ce);
void forebay_probes(const void *queue, double *to, size_t count);
void *forebay_stream(const struct forebay_order *order);
u64 forebay_draw(void *stream);
void forebay_stream_end(void *stream);
/* crates/qdisc/src/sys/runtime.rs */
void *forebay_alloc(size_t size, size_t align);
void forebay_free(void *at);
void forebay_fail(const char *message, size_t len) __noreturn;
void _Unwind_Resume(void);
void rust_eh_personality(void);

enum role { DISCIPLINE, CHILD, ENTER, EXIT };
enum kind { ARRIVED = 1, DEPARTED, EARLY, OVERFLOW, LOST, ENTERED, LEFT, TEXT = 16, PROBES };
enum flag { FORWARD = 1, PAYLOAD = 2, TCP = 4, SYN = 8 };

struct record {
	u8 kind;
	u8 link;
	u8 ecn;
	u8 flags;
	u16 len;
	u16 flow;
	u32 id;
	u32 value;
	u64 at;
};

/* Options of the qdisc. */
enum {
	OPT_ROLE = 1, OPT_LINK, OPT_SPEC, OPT_NAME, OPT_SEED, OPT_RATE, OPT_LIMIT, OPT_IN_BYTES, OPT_MEAN, OPT_START,
	OPT_SAMPLE, OPT_PROBES, OPT_PORTS, OPT_PAIRS, OPT_CLASSES,
	OPT_DRAWS, OPT_QUEUES, OPT_MAX = OPT_QUEUES,
};

static const struct nla_policy policy[OPT_MAX + 1] = {
	[OPT_ROLE] = { .type = NLA_U32 },
	[OPT_LINK] = { .type = NLA_U32 },
	[OPT_SPEC] = { .type = NLA_BINARY },
	[OPT_NAME] = { .type = NLA_BINARY },
	[OPT_SEED] = { .type = NLA_U64 },
	[OPT_RATE] = { .type = NLA_U64 },
	[OPT_LIMIT] = { .type = NLA_U64 },
	[OPT_IN_BYTES] = { .type = NLA_U32 },
	[OPT_MEAN] = { .type = NLA_U32 },
	[OPT_START] = { .type = NLA_U64 },
	[OPT_SAMPLE] = { .type = NLA_U64 },
	[OPT_PROBES] = { .type = NLA_U32 },
	[OPT_PORTS] = { .type = NLA_U32 },
	[OPT_PAIRS] = { .type = NLA_BINARY },
	[OPT_CLASSES] = { .type = NLA_BINARY },
	[OPT_DRAWS] = { .type = NLA_U32 },
	[OPT_QUEUES] = { .type = NLA_U32 },
};

struct waiting {
	struct sk_buff *skb;
	u32 id;
	u32 next;
};

struct forebay {
	struct list_head all;
	struct Qdisc *child;
	void *queue;
	/* The random numbers of a child, if they are those of a discipline. */
	void *stream;
	struct waiting *slots;
	u32 slots_len, first_free, held, next_id;
	/* The number of queues of a child whose packets get the hash of the queue with the number of their flow; or 0. */
	u32 queues;
	u32 role, link, probes;
	u64 limit, start, sample, next_sample;
	/* The first port, and for each flow its source-destination pair and its class. */
	u32 ports, flows;
	u32 *pairs;
	u8 *classes;
};

#define NONE (~0u)
static LIST_HEAD(all);
static u8 buffer[BUFFER];
static size_t filled;
static u32 entered;

static void flush(void)
{
	size_t done = 0;

	while (done < filled) {
		int n = os_write_file(OUT, buffer + done, filled - done);

		if (n <= 0)
			break;
		done += n;
	}
	filled = 0;
}

static void put(const void *bytes, size_t len)
{
	if (filled + len > BUFFER)
		flush();
	memcpy(buffer + filled, bytes, len);
	filled += len;
}

static void say(const char *text, size_t len)
{
	struct record head = { .kind = TEXT, .at = ktime_get_ns() };

	head.value = min_t(size_t, len, 4096);
	put(&head, sizeof(head));
	put(text, head.value);
}

void forebay_fail(const char *message, size_t len)
{
	char text[600];

	say(text, scnprintf(text, sizeof(text), "fault %.*s", (int)len, message));
	flush();
	panic("forebay: %.*s", (int)len, message);
}

static void fail(const char *message)
{
	forebay_fail(message, strlen(message));
}

void *forebay_alloc(size_t size, size_t align)
{
	/* Sizes that are a power of two are aligned to themselves. */
	if (align > ARCH_KMALLOC_MINALIGN)
		size = roundup_pow_of_two(max(size, align));
	return kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
}

void forebay_free(void *at)
{
	kfree(at);
}

void _Unwind_Resume(void)
{
	fail("unwinding");
}

void rust_eh_personality(void)
{
	fail("unwinding");
}

/* The stream of the qdisc that is being created or called; NULL: the kernel's random numbers. */
static void *drawing;

/* crates/linux/src/build/edits.rs lets qdiscs call these instead of the kernel's functions. */
u64 forebay_random_u64(void)
{
	u64 bits;

	if (drawing)
		return forebay_draw(drawing);
	get_random_bytes(&bits, sizeof(bits));
	return bits;
}

u32 forebay_random_u32(void)
{
	return drawing ? forebay_draw(drawing) >> 32 : get_random_u32();
}

/* As get_random_u32_below: the first product whose lower half is not in the remainder of 2^32. */
u32 forebay_random_below(u32 count)
{
	u64 product;

	if (!drawing)
		return get_random_u32_below(count);
	do
		product = (u64)count * forebay_random_u32();
	while ((u32)product < count && (u32)product < -count % count);
	return product >> 32;
}

/* Bytes of the present kernel stack below this frame. The thread's description is at its end. */
static noinline size_t stack_left(void)
{
	size_t at = (unsigned long)__builtin_frame_address(0) & (THREAD_SIZE - 1);

	return at - min(at, sizeof(struct thread_info));
}

static void check_stack(void)
{
	if (stack_left() < STACK_RESERVE)
		fail("less than 16 KiB of a kernel stack are left");
}

/*
 * Builds a queue, and reports how much of the stack this took: the stack below is filled with a pattern before, and
 * searched for it afterwards.
 */
static noinline void *build(const struct forebay_order *order, u8 *why, size_t why_len, const char *link)
{
	size_t left = stack_left(), margin = 512, used = 0;
	unsigned char *top = (unsigned char *)__builtin_frame_address(0) - margin;
	unsigned char *end = (unsigned char *)__builtin_frame_address(0) - left + 64, *at;
	char text[160];
	void *queue;

	for (at = end; at < top; at++)
		*(volatile unsigned char *)at = 0xa5;
	queue = forebay_new(order, why, why_len);
	for (at = end; at < top && *(volatile unsigned char *)at == 0xa5; at++)
		;
	used = top - at + margin;
	say(text, scnprintf(text, sizeof(text), "stack %zu %zu %s", used, left, link));
	if (left - used < STACK_RESERVE)
		fail("the construction of a discipline leaves less than 16 KiB of a kernel stack");
	return queue;
}

struct seen {
	u16 flow;
	u8 flags, ecn, proto;
	u32 value;
};

static struct seen look(const struct forebay *f, struct sk_buff *skb)
{
	struct seen seen = { .flow = 0xffff, .proto = 1 };
	struct iphdr ip_space, *ip;
	struct tcphdr tcp_space, *tcp;
	int at = skb_network_offset(skb), ports;
	__be16 port_space[2], *port;
	u32 from, to, payload;

	if (skb->protocol != htons(ETH_P_IP))
		return seen;
	ip = skb_header_pointer(skb, at, sizeof(ip_space), &ip_space);
	if (!ip)
		return seen;
	seen.ecn = ip->tos & INET_ECN_MASK;
	ports = at + ip->ihl * 4;
	port = skb_header_pointer(skb, ports, sizeof(port_space), port_space);
	if (!port || (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP))
		return seen;
	from = ntohs(port[0]) - f->ports;
	to = ntohs(port[1]) - f->ports;
	seen.flow = to < f->flows ? to : from < f->flows ? from : 0xffff;
	/* Servers have addresses 10.2.x.y. */
	if ((ntohl(ip->daddr) >> 16) == ((10 << 8) | 2))
		seen.flags |= FORWARD;
	if (ip->protocol == IPPROTO_UDP) {
		seen.flags |= PAYLOAD;
		return seen;
	}
	seen.proto = 0;
	seen.flags |= TCP;
	tcp = skb_header_pointer(skb, ports, sizeof(tcp_space), &tcp_space);
	if (!tcp)
		return seen;
	payload = ntohs(ip->tot_len) - ip->ihl * 4 - tcp->doff * 4;
	if (tcp->syn)
		seen.flags |= SYN;
	seen.value = ntohl(tcp->ack_seq);
	if (payload) {
		seen.flags |= PAYLOAD;
		seen.value = ntohl(tcp->seq) + payload;
	}
	return seen;
}

/* The present in the time of the run. */
static u64 time_of(const struct forebay *f)
{
	u64 now = ktime_get_ns();

	return now > f->start ? now - f->start : 0;
}

static void note(const struct forebay *f, u8 kind, u64 at, const struct seen *seen, u32 len, u32 id, u32 value)
{
	struct record r = {
		.kind = kind, .link = f->link, .ecn = seen->ecn, .flags = seen->flags, .len = len, .flow = seen->flow,
		.id = id, .value = value, .at = at,
	};

	/* A link that is not under study. */
	if (f->link != 255)
		put(&r, sizeof(r));
}

/* Records the internal variables of the discipline at every sampling time up to now. */
static void samples(struct forebay *f, u64 now)
{
	while (f->sample && f->next_sample <= now) {
		struct record head = {
			.kind = PROBES, .link = f->link, .value = f->probes, .at = f->next_sample,
		};
		double values[MOST_PROBES];

		forebay_advance(f->queue, f->next_sample);
		forebay_probes(f->queue, values, f->probes);
		put(&head, sizeof(head));
		put(values, f->probes * sizeof(double));
		f->next_sample += f->sample;
	}
}

static int more_slots(struct forebay *f)
{
	u32 len = f->slots_len ? 2 * f->slots_len : 256, n;
	struct waiting *slots = krealloc(f->slots, len * sizeof(*slots), GFP_ATOMIC);

	if (!slots)
		return -ENOMEM;
	for (n = f->slots_len; n < len; n++)
		slots[n] = (struct waiting){ .next = n + 1 < len ? n + 1 : NONE };
	f->first_free = f->slots_len;
	f->slots = slots;
	f->slots_len = len;
	return 0;
}

static struct sk_buff *take(struct forebay *f, u32 slot)
{
	struct sk_buff *skb = f->slots[slot].skb;

	f->slots[slot].skb = NULL;
	f->slots[slot].next = f->first_free;
	f->first_free = slot;
	f->held--;
	return skb;
}

/*
 * Frees the packets that the discipline has dropped, except that in the slot `spared`. Returns the number of packets
 * freed, and in `bytes` their length. `own`: was the spared one among them?
 */
static u32 release(struct forebay *f, struct Qdisc *sch, u64 now, struct sk_buff **to_free, u32 spared, u32 *bytes,
		   bool *own)
{
	static const struct seen nothing = { .flow = 0xffff };
	int slot, overflow = 0;
	u32 count = 0;

	while ((slot = forebay_dropped(f->queue, &overflow)) >= 0) {
		struct sk_buff *skb = f->slots[slot].skb;
		u32 id = f->slots[slot].id;

		take(f, slot);
		note(f, overflow ? OVERFLOW : EARLY, now, &nothing, qdisc_pkt_len(skb), id, f->held);
		qdisc_qstats_drop(sch);
		if ((u32)slot == spared) {
			*own = true;
			continue;
		}
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
		*bytes += qdisc_pkt_len(skb);
		count++;
		if (to_free)
			__qdisc_drop(skb, to_free);
		else
			kfree_skb(skb);
	}
	return count;
}

static int enqueue_own(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct forebay *f = qdisc_priv(sch);
	u64 now = time_of(f);
	struct seen seen = look(f, skb);
	struct forebay_packet packet = { .len = qdisc_pkt_len(skb), .proto = seen.proto, .ecn = seen.ecn };
	u32 id = f->next_id++, slot, bytes = 0, count;
	bool own = false;

	if (f->first_free == NONE && more_slots(f))
		fail("no memory for the queue");
	slot = f->first_free;
	f->first_free = f->slots[slot].next;
	f->slots[slot] = (struct waiting){ .skb = skb, .id = id };
	f->held++;
	packet.slot = slot;
	packet.flow = seen.flow;
	packet.pair = seen.flow < f->flows ? f->pairs[seen.flow] : 0xffff;
	packet.class = seen.flow < f->flows ? f->classes[seen.flow] : 0;
	samples(f, now);
	note(f, ARRIVED, now, &seen, packet.len, id, f->held);
	forebay_arrive(f->queue, now, &packet);
	count = release(f, sch, now, to_free, slot, &bytes, &own);
	if (count)
		qdisc_tree_reduce_backlog(sch, count, bytes);
	if (own) {
		__qdisc_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *dequeue_own(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);
	u64 now = time_of(f);
	struct sk_buff *skb = NULL;
	struct seen seen;
	u32 bytes = 0, count, id = 0;
	bool own = false;
	int ce = 0, slot;

	samples(f, now);
	slot = forebay_depart(f->queue, now, &ce);
	if (slot >= 0) {
		id = f->slots[slot].id;
		skb = take(f, slot);
	}
	count = release(f, sch, now, NULL, NONE, &bytes, &own);
	if (skb) {
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
		qdisc_bstats_update(sch, skb);
		if (ce)
			INET_ECN_set_ce(skb);
		seen = look(f, skb);
		note(f, DEPARTED, now, &seen, qdisc_pkt_len(skb), id, f->held);
	}
	if (count)
		qdisc_tree_reduce_backlog(sch, count, bytes);
	return skb;
}

/* The last word of the control block is free while a qdisc has the packet. */
#define ID_OF(skb) (*(u32 *)((skb)->cb + sizeof((skb)->cb) - sizeof(u32)))

static int enqueue_child(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct forebay *f = qdisc_priv(sch);
	u64 now = time_of(f);
	struct seen seen = look(f, skb);
	u32 len = qdisc_pkt_len(skb), before = f->child->q.qlen;
	struct sk_buff *gone = NULL, *at, *next;
	void *outer = drawing;
	int ret;

	if (f->queues)
		__skb_set_sw_hash(skb, DIV_ROUND_UP_ULL((u64)(seen.flow % f->queues) << 32, f->queues), true);
	if (f->role == ENTER && skb->mark) {
		/* It comes from another link: it is in the network already. */
	} else if (f->role == ENTER) {
		/* It has left its host, which must not wait until the network has sent it. */
		skb_orphan_partial(skb);
		skb->mark = ++entered;
		note(f, ENTERED, now, &seen, len, skb->mark, seen.value);
	} else {
		ID_OF(skb) = f->next_id++;
		note(f, ARRIVED, now, &seen, len, ID_OF(skb), before + 1);
	}
	drawing = f->stream;
	ret = qdisc_enqueue(skb, f->child, &gone);
	drawing = outer;
	for (at = gone; at; at = next) {
		next = at->next;
		if (f->role == CHILD)
			note(f, before >= f->limit ? OVERFLOW : EARLY, now, &seen, qdisc_pkt_len(at), ID_OF(at),
			     f->child->q.qlen);
		__qdisc_drop(at, to_free);
	}
	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *dequeue_child(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);
	u32 before = f->child->q.qlen, after;
	u64 now = time_of(f);
	struct seen seen = { .flow = 0xffff };
	void *outer = drawing;
	struct sk_buff *skb;

	drawing = f->stream;
	skb = f->child->ops->dequeue(f->child);
	drawing = outer;
	after = f->child->q.qlen;
	if (f->role == CHILD && before - after != (skb ? 1 : 0))
		note(f, LOST, now, &seen, 0, before - after - (skb ? 1 : 0), after);
	if (!skb)
		return NULL;
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	if (f->role == CHILD) {
		seen = look(f, skb);
		note(f, DEPARTED, now, &seen, qdisc_pkt_len(skb), ID_OF(skb), after);
	}
	return skb;
}

static int forebay_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct forebay *f = qdisc_priv(sch);
	struct seen seen;

	check_stack();
	if (f->role == DISCIPLINE)
		return enqueue_own(skb, sch, to_free);
	if (f->role != EXIT)
		return enqueue_child(skb, sch, to_free);
	seen = look(f, skb);
	note(f, LEFT, time_of(f), &seen, qdisc_pkt_len(skb), skb->mark, seen.value);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *forebay_dequeue(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);

	check_stack();
	if (f->role == DISCIPLINE)
		return dequeue_own(sch);
	return f->role == EXIT ? qdisc_dequeue_head(sch) : dequeue_child(sch);
}

static struct sk_buff *forebay_peek(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);

	return f->role == EXIT ? qdisc_peek_head(sch) : qdisc_peek_dequeued(sch);
}

static u32 word(struct nlattr **tb, int at, u32 otherwise)
{
	return tb[at] ? nla_get_u32(tb[at]) : otherwise;
}

static u64 number(struct nlattr **tb, int at, u64 otherwise)
{
	return tb[at] ? nla_get_u64(tb[at]) : otherwise;
}

static struct forebay_order order_of(struct nlattr **tb)
{
	return (struct forebay_order){
		.spec = tb[OPT_SPEC] ? nla_data(tb[OPT_SPEC]) : NULL, .spec_len = tb[OPT_SPEC] ? nla_len(tb[OPT_SPEC]) : 0,
		.link = nla_data(tb[OPT_NAME]), .link_len = nla_len(tb[OPT_NAME]),
		.seed = number(tb, OPT_SEED, 1), .rate = number(tb, OPT_RATE, 1),
		.limit = number(tb, OPT_LIMIT, 1000), .limit_in_bytes = word(tb, OPT_IN_BYTES, 0),
		.mean_packet = word(tb, OPT_MEAN, 1500),
	};
}

static int parse(struct nlattr **tb, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	if (!opt)
		return -EINVAL;
	return nla_parse_nested_deprecated(tb, OPT_MAX, opt, policy, extack);
}

static void refuse(const u8 *why)
{
	char text[300];

	say(text, scnprintf(text, sizeof(text), "refused %s", why));
	flush();
}

static int forebay_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct forebay *f = qdisc_priv(sch);
	struct nlattr *tb[OPT_MAX + 1];
	struct forebay_order order;
	int err = parse(tb, opt, extack);
	u8 why[256];

	if (err)
		return err;
	/* Nothing changes: a parent whose rate has changed calculates anew when the next packet may leave. */
	if (!tb[OPT_SPEC]) {
		__netif_schedule(qdisc_root_sleeping(sch));
		return 0;
	}
	if (f->role != DISCIPLINE || !tb[OPT_NAME])
		return -EOPNOTSUPP;
	order = order_of(tb);
	sch_tree_lock(sch);
	samples(f, time_of(f));
	err = forebay_retune(f->queue, &order, why, sizeof(why));
	sch_tree_unlock(sch);
	if (err)
		refuse(why);
	return err ? -EINVAL : 0;
}

static int forebay_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct forebay *f = qdisc_priv(sch);
	struct nlattr *tb[OPT_MAX + 1];
	struct forebay_order order;
	int err = parse(tb, opt, extack);
	u8 why[256] = "";
	char name[64];

	INIT_LIST_HEAD(&f->all);
	if (err)
		return err;
	f->role = word(tb, OPT_ROLE, DISCIPLINE);
	f->link = word(tb, OPT_LINK, 0);
	f->start = number(tb, OPT_START, 0);
	f->limit = number(tb, OPT_LIMIT, 1000);
	f->ports = word(tb, OPT_PORTS, 10000);
	f->queues = word(tb, OPT_QUEUES, 0);
	f->first_free = NONE;
	if (tb[OPT_PAIRS] && tb[OPT_CLASSES]) {
		f->flows = nla_len(tb[OPT_CLASSES]);
		f->pairs = kmemdup(nla_data(tb[OPT_PAIRS]), nla_len(tb[OPT_PAIRS]), GFP_KERNEL);
		f->classes = kmemdup(nla_data(tb[OPT_CLASSES]), f->flows, GFP_KERNEL);
		if (!f->pairs || !f->classes || nla_len(tb[OPT_PAIRS]) != 4 * f->flows)
			return -EINVAL;
	}
	if (f->role == EXIT) {
		sch->limit = 1 << 20;
	} else if (f->role != DISCIPLINE) {
		f->child = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops, TC_H_MAKE(sch->handle, 1), extack);
		if (!f->child)
			return -ENOMEM;
		qdisc_hash_add(f->child, true);
		if (tb[OPT_DRAWS] && tb[OPT_NAME]) {
			order = order_of(tb);
			f->stream = forebay_stream(&order);
			/* Up to its graft, for what the new child draws in its construction. */
			drawing = f->stream;
		}
	} else {
		if (!tb[OPT_SPEC] || !tb[OPT_NAME])
			return -EINVAL;
		order = order_of(tb);
		scnprintf(name, sizeof(name), "%.*s", (int)order.link_len, order.link);
		f->queue = build(&order, why, sizeof(why), name);
		if (!f->queue) {
			refuse(why);
			return -EINVAL;
		}
		f->sample = number(tb, OPT_SAMPLE, 0);
		f->next_sample = f->sample;
		f->probes = min_t(u32, word(tb, OPT_PROBES, 0), MOST_PROBES);
	}
	list_add_tail(&f->all, &all);
	return 0;
}

static void forebay_reset(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);
	u32 n;

	if (f->child)
		qdisc_reset(f->child);
	for (n = 0; n < f->slots_len; n++) {
		kfree_skb(f->slots[n].skb);
		f->slots[n].skb = NULL;
	}
}

static void forebay_destroy(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);

	list_del_init(&f->all);
	if (f->child)
		qdisc_put(f->child);
	if (f->queue)
		forebay_end(f->queue);
	if (drawing == f->stream)
		drawing = NULL;
	if (f->stream)
		forebay_stream_end(f->stream);
	kfree(f->slots);
	kfree(f->pairs);
	kfree(f->classes);
}

static int forebay_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return skb->len;
}

static int forebay_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new, struct Qdisc **old,
			 struct netlink_ext_ack *extack)
{
	struct forebay *f = qdisc_priv(sch);

	drawing = NULL;
	*old = qdisc_replace(sch, new ? new : &noop_qdisc, &f->child);
	return 0;
}

static struct Qdisc *forebay_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct forebay *f = qdisc_priv(sch);

	return f->child;
}

static unsigned long forebay_find(struct Qdisc *sch, u32 classid)
{
	struct forebay *f = qdisc_priv(sch);

	return f->child ? 1 : 0;
}

static void forebay_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	struct forebay *f = qdisc_priv(sch);

	if (f->child && !walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static int forebay_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb, struct tcmsg *tcm)
{
	return 0;
}

static const struct Qdisc_class_ops class_ops = {
	.graft = forebay_graft,
	.leaf = forebay_leaf,
	.find = forebay_find,
	.walk = forebay_walk,
	.dump = forebay_dump_class,
};

static struct Qdisc_ops ops __read_mostly = {
	.cl_ops = &class_ops,
	.id = "forebay",
	.priv_size = sizeof(struct forebay),
	.enqueue = forebay_enqueue,
	.dequeue = forebay_dequeue,
	.peek = forebay_peek,
	.init = forebay_init,
	.change = forebay_change,
	.reset = forebay_reset,
	.destroy = forebay_destroy,
	.dump = forebay_dump,
	.owner = THIS_MODULE,
};

/* Texts of the guest's programs. A text that begins with "end" completes the records of every queue. */
static ssize_t proc_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	size_t most = min_t(size_t, len, 4096);
	char *text = kmalloc(4096, GFP_KERNEL);
	struct forebay *f;

	if (!text || copy_from_user(text, from, most)) {
		kfree(text);
		return -EFAULT;
	}
	local_bh_disable();
	if (most >= 3 && !memcmp(text, "end", 3))
		list_for_each_entry(f, &all, all)
			if (f->queue)
				samples(f, time_of(f));
	say(text, most);
	flush();
	local_bh_enable();
	kfree(text);
	return most;
}

static const struct proc_ops proc_ops = { .proc_write = proc_write };

static int __init forebay_module(void)
{
	BUILD_BUG_ON(sizeof(struct record) != 24);
	proc_create("forebay", 0222, NULL, &proc_ops);
	return register_qdisc(&ops);
}
module_init(forebay_module)
MODULE_LICENSE("Dual MIT/GPL");
