/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the parts of the qdisc share. */
#ifndef SCH_FOREBAY_H
#define SCH_FOREBAY_H

#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#define MOST_PROBES 32
#define MOST_SNAP 256

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
	u32 ack;
	u16 source;
	u16 destination;
	u8 class;
	u8 proto;
	u8 ecn;
	u8 dscp;
};

/* crates/qdisc/src/sys/exports.rs */
void *forebay_new(const struct forebay_order *order, u8 *why, size_t why_len);
int forebay_retune(void *queue, const struct forebay_order *order, u8 *why, size_t why_len);
void forebay_end(void *queue);
void forebay_advance(void *queue, u64 now);
void forebay_arrive(void *queue, u64 now, const struct forebay_packet *packet);
int forebay_dropped(void *queue, int *overflow);
int forebay_depart(void *queue, u64 now, int *ce);
u64 forebay_held(const void *queue, u64 now);
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
enum kind { ARRIVED = 1, DEPARTED, EARLY, OVERFLOW, LOST, ENTERED, LEFT, FREED, TEXT = 16, PROBES, HEADERS };
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

struct waiting {
	struct sk_buff *skb;
	u32 id;
	u32 next;
};

struct forebay {
	struct list_head all;
	struct Qdisc *child;
	void *queue;
	/* Calls dequeue again when a discipline holds its packets back. */
	struct qdisc_watchdog watchdog;
	/* The random numbers of a child, if they are those of a discipline. */
	void *stream;
	struct waiting *slots;
	u32 slots_len, first_free, held, next_id;
	/* The number of queues of a child whose packets get the hash of the queue with the number of their flow; or 0. */
	u32 queues;
	u32 role, link, probes;
	/* The number of bytes of each packet that are recorded, from its IP header on; 0 without a capture. */
	u32 snap;
	u64 limit, start, sample, next_sample;
	/* The first port, and for each flow its source-destination pair, its class, and the hosts of its clients and servers. */
	u32 ports, flows;
	u32 *pairs;
	u8 *classes;
	u16 *hosts;
};

#define NONE (~0u)

struct seen {
	u16 flow;
	u8 flags, ecn, proto, dscp;
	u32 value, ack;
};

/* sch_forebay_records.c */
extern struct list_head forebay_all;
void forebay_put(const void *bytes, size_t len);
void forebay_flush(void);
void forebay_say(const char *text, size_t len);
u64 forebay_time(const struct forebay *f);
void forebay_note(const struct forebay *f, u8 kind, u64 at, const struct seen *seen, u32 len, u32 id, u32 value);
void forebay_headers(const struct forebay *f, u64 at, const struct seen *seen, const struct sk_buff *skb, u32 id);
void forebay_samples(struct forebay *f, u64 now);

/* sch_forebay_runtime.c */
extern void *forebay_drawing;
void forebay_stop(const char *message) __noreturn;
void forebay_check_stack(void);
void *forebay_build(const struct forebay_order *order, u8 *why, size_t why_len, const char *link);
u64 forebay_random_u64(void);
u32 forebay_random_u32(void);
u32 forebay_random_below(u32 count);

/* sch_forebay_packets.c */
extern const struct forebay *forebay_watched;
void forebay_freed(const struct sk_buff *skb);
int forebay_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
struct sk_buff *forebay_dequeue(struct Qdisc *sch);
struct sk_buff *forebay_peek(struct Qdisc *sch);

#endif
