// SPDX-License-Identifier: GPL-2.0 OR MIT
/* How packets enter and leave the qdisc in each of its roles. */
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "sch_forebay.h"

static u32 entered;

/* Whether the options are only NOP, MD5, SACK and timestamps; and whether SACK is among them. */
static bool plain_options(const u8 *at, int len, bool *blocks)
{
	while (len > 0 && *at != TCPOPT_EOL) {
		int size = *at == TCPOPT_NOP ? 1 : len > 1 ? at[1] : 0;

		switch (*at) {
		case TCPOPT_SACK:
			*blocks = true;
			fallthrough;
		case TCPOPT_MD5SIG:
		case TCPOPT_TIMESTAMP:
			if (size < 2)
				return false;
			fallthrough;
		case TCPOPT_NOP:
			break;
		default:
			return false;
		}
		if (size > len)
			return false;
		at += size;
		len -= size;
	}
	return true;
}

/* What an ACK filter sees of a segment without data: `Ack` in crates/aqm/src/base/value/packet.rs. */
static u32 ack_of(const struct sk_buff *skb, int at, const struct tcphdr *tcp)
{
	u8 space[40];
	int len = tcp->doff * 4 - sizeof(*tcp);
	const u8 *options = len > 0 ? skb_header_pointer(skb, at + sizeof(*tcp), len, space) : NULL;
	u32 flags = tcp_flag_word(tcp) & ~(TCP_DATA_OFFSET | cpu_to_be32(0xffff) | TCP_FLAG_ECE | TCP_FLAG_CWR);
	bool blocks = false;

	if (len < 0 || flags != TCP_FLAG_ACK || (len > 0 && !options) || !plain_options(options, len, &blocks))
		return 0;
	return (u32)1 << 31 | (u32)blocks << 30 | (u32)tcp->cwr << 29 | (u32)tcp->ece << 28 | ntohl(tcp->ack_seq) >> 4;
}

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
	seen.dscp = ip->tos >> 2;
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
	} else {
		seen.ack = ack_of(skb, ports, tcp);
	}
	return seen;
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
		forebay_note(f, overflow ? OVERFLOW : EARLY, now, &nothing, qdisc_pkt_len(skb), id, f->held);
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
	u64 now = forebay_time(f);
	struct seen seen = look(f, skb);
	struct forebay_packet packet = { .len = qdisc_pkt_len(skb), .proto = seen.proto, .ecn = seen.ecn };
	u32 id = f->next_id++, slot, bytes = 0, count;
	bool own = false;

	if (f->first_free == NONE && more_slots(f))
		forebay_stop("no memory for the queue");
	slot = f->first_free;
	f->first_free = f->slots[slot].next;
	f->slots[slot] = (struct waiting){ .skb = skb, .id = id };
	f->held++;
	packet.slot = slot;
	packet.flow = seen.flow;
	packet.pair = seen.flow < f->flows ? f->pairs[seen.flow] : 0xffff;
	packet.class = seen.flow < f->flows ? f->classes[seen.flow] : 0;
	packet.dscp = seen.dscp;
	packet.ack = seen.ack;
	if (seen.flow < f->flows && f->hosts) {
		bool forward = seen.flags & FORWARD;

		packet.source = f->hosts[2 * seen.flow + !forward];
		packet.destination = f->hosts[2 * seen.flow + forward];
	}
	forebay_samples(f, now);
	forebay_note(f, ARRIVED, now, &seen, packet.len, id, f->held);
	forebay_headers(f, now, &seen, skb, id);
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
	u64 now = forebay_time(f);
	struct sk_buff *skb = NULL;
	struct seen seen;
	u32 bytes = 0, count, id = 0;
	bool own = false;
	int ce = 0, slot;

	forebay_samples(f, now);
	slot = forebay_depart(f->queue, now, &ce);
	if (slot >= 0) {
		id = f->slots[slot].id;
		skb = take(f, slot);
	}
	count = release(f, sch, now, NULL, NONE, &bytes, &own);
	if (!skb && f->held) {
		u64 until = forebay_held(f->queue, now);

		if (until != ~0ULL)
			qdisc_watchdog_schedule_ns(&f->watchdog, until + f->start);
	}
	if (skb) {
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
		qdisc_bstats_update(sch, skb);
		if (ce)
			INET_ECN_set_ce(skb);
		seen = look(f, skb);
		forebay_note(f, DEPARTED, now, &seen, qdisc_pkt_len(skb), id, f->held);
	}
	if (count)
		qdisc_tree_reduce_backlog(sch, count, bytes);
	return skb;
}

/* The last word of the control block is free while a qdisc has the packet. */
#define ID_OF(skb) (*(u32 *)((skb)->cb + sizeof((skb)->cb) - sizeof(u32)))

/* The qdisc whose child enqueues or dequeues now; NULL between these calls. */
const struct forebay *forebay_watched;

/*
 * Records a packet that the child of `forebay_watched` frees, as CoDel does when it drops at a departure. net/core/skbuff.c
 * calls it.
 */
void forebay_freed(const struct sk_buff *skb)
{
	static const struct seen nothing = { .flow = 0xffff };

	forebay_note(forebay_watched, FREED, forebay_time(forebay_watched), &nothing, 0, ID_OF(skb), forebay_watched->child->q.qlen);
}

static void watch(const struct forebay *f)
{
	forebay_watched = f->role == CHILD ? f : NULL;
}

static int enqueue_child(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct forebay *f = qdisc_priv(sch);
	u64 now = forebay_time(f);
	struct seen seen = look(f, skb);
	u32 len = qdisc_pkt_len(skb), before = f->child->q.qlen;
	struct sk_buff *gone = NULL, *at, *next;
	void *outer = forebay_drawing;
	int ret;

	if (f->queues)
		__skb_set_sw_hash(skb, DIV_ROUND_UP_ULL((u64)(seen.flow % f->queues) << 32, f->queues), true);
	if (f->role == ENTER && skb->mark) {
		/* It comes from another link: it is in the network already. */
	} else if (f->role == ENTER) {
		/* It has left its host, which must not wait until the network has sent it. */
		skb_orphan_partial(skb);
		skb->mark = ++entered;
		forebay_note(f, ENTERED, now, &seen, len, skb->mark, seen.value);
	} else {
		ID_OF(skb) = f->next_id++;
		forebay_note(f, ARRIVED, now, &seen, len, ID_OF(skb), before + 1);
		forebay_headers(f, now, &seen, skb, ID_OF(skb));
	}
	forebay_drawing = f->stream;
	watch(f);
	ret = qdisc_enqueue(skb, f->child, &gone);
	forebay_watched = NULL;
	forebay_drawing = outer;
	for (at = gone; at; at = next) {
		next = at->next;
		if (f->role == CHILD)
			forebay_note(f, before >= f->limit ? OVERFLOW : EARLY, now, &seen, qdisc_pkt_len(at), ID_OF(at),
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
	u64 now = forebay_time(f);
	struct seen seen = { .flow = 0xffff };
	void *outer = forebay_drawing;
	struct sk_buff *skb;

	forebay_drawing = f->stream;
	watch(f);
	skb = f->child->ops->dequeue(f->child);
	forebay_watched = NULL;
	forebay_drawing = outer;
	after = f->child->q.qlen;
	if (f->role == CHILD && before - after != (skb ? 1 : 0))
		forebay_note(f, LOST, now, &seen, 0, before - after - (skb ? 1 : 0), after);
	if (!skb)
		return NULL;
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	if (f->role == CHILD) {
		seen = look(f, skb);
		forebay_note(f, DEPARTED, now, &seen, qdisc_pkt_len(skb), ID_OF(skb), after);
	}
	return skb;
}

int forebay_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct forebay *f = qdisc_priv(sch);
	struct seen seen;

	forebay_check_stack();
	if (f->role == DISCIPLINE)
		return enqueue_own(skb, sch, to_free);
	if (f->role != EXIT)
		return enqueue_child(skb, sch, to_free);
	seen = look(f, skb);
	forebay_note(f, LEFT, forebay_time(f), &seen, qdisc_pkt_len(skb), skb->mark, seen.value);
	forebay_headers(f, forebay_time(f), &seen, skb, skb->mark);
	return qdisc_enqueue_tail(skb, sch);
}

struct sk_buff *forebay_dequeue(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);

	forebay_check_stack();
	if (f->role == DISCIPLINE)
		return dequeue_own(sch);
	return f->role == EXIT ? qdisc_dequeue_head(sch) : dequeue_child(sch);
}

struct sk_buff *forebay_peek(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);

	return f->role == EXIT ? qdisc_peek_head(sch) : qdisc_peek_dequeued(sch);
}
