// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A qdisc for a User Mode Linux kernel, in four roles:
 *   0  a discipline of Forebay holds the packets (crates/qdisc/src/sys/exports.rs);
 *   1  a qdisc of Linux holds them, as a child of this one;
 *   2  packets enter the network: they get a number; a child holds them;
 *   3  packets leave the network.
 * Every role records what happens to packets. This file has the options of the qdisc, its creation and its end.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include "sch_forebay.h"

/* Options of the qdisc. */
enum {
	OPT_ROLE = 1, OPT_LINK, OPT_SPEC, OPT_NAME, OPT_SEED, OPT_RATE, OPT_LIMIT, OPT_IN_BYTES, OPT_MEAN, OPT_START,
	OPT_SAMPLE, OPT_PROBES, OPT_PORTS, OPT_PAIRS, OPT_CLASSES,
	OPT_DRAWS, OPT_QUEUES, OPT_HOSTS, OPT_SNAP, OPT_MAX = OPT_SNAP,
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
	[OPT_HOSTS] = { .type = NLA_BINARY },
	[OPT_SNAP] = { .type = NLA_U32 },
};

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

	forebay_say(text, scnprintf(text, sizeof(text), "refused %s", why));
	forebay_flush();
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
	if (f->role != DISCIPLINE || !tb[OPT_SPEC] || !tb[OPT_NAME])
		return -EOPNOTSUPP;
	order = order_of(tb);
	sch_tree_lock(sch);
	forebay_samples(f, forebay_time(f));
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
	qdisc_watchdog_init(&f->watchdog, sch);
	if (err)
		return err;
	f->role = word(tb, OPT_ROLE, DISCIPLINE);
	f->link = word(tb, OPT_LINK, 0);
	f->start = number(tb, OPT_START, 0);
	f->limit = number(tb, OPT_LIMIT, 1000);
	f->ports = word(tb, OPT_PORTS, 10000);
	f->queues = word(tb, OPT_QUEUES, 0);
	f->snap = min_t(u32, word(tb, OPT_SNAP, 0), MOST_SNAP);
	f->first_free = NONE;
	if (tb[OPT_PAIRS] && tb[OPT_CLASSES]) {
		f->flows = nla_len(tb[OPT_CLASSES]);
		f->pairs = kmemdup(nla_data(tb[OPT_PAIRS]), nla_len(tb[OPT_PAIRS]), GFP_KERNEL);
		f->classes = kmemdup(nla_data(tb[OPT_CLASSES]), f->flows, GFP_KERNEL);
		if (!f->pairs || !f->classes || nla_len(tb[OPT_PAIRS]) != 4 * f->flows)
			return -EINVAL;
		if (tb[OPT_HOSTS]) {
			f->hosts = kmemdup(nla_data(tb[OPT_HOSTS]), nla_len(tb[OPT_HOSTS]), GFP_KERNEL);
			if (!f->hosts || nla_len(tb[OPT_HOSTS]) != 4 * f->flows)
				return -EINVAL;
		}
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
			forebay_drawing = f->stream;
		}
	} else {
		if (!tb[OPT_SPEC] || !tb[OPT_NAME])
			return -EINVAL;
		order = order_of(tb);
		scnprintf(name, sizeof(name), "%.*s", (int)order.link_len, order.link);
		f->queue = forebay_build(&order, why, sizeof(why), name);
		if (!f->queue) {
			refuse(why);
			return -EINVAL;
		}
		f->sample = number(tb, OPT_SAMPLE, 0);
		f->next_sample = f->sample;
		f->probes = min_t(u32, word(tb, OPT_PROBES, 0), MOST_PROBES);
	}
	list_add_tail(&f->all, &forebay_all);
	return 0;
}

static void forebay_reset(struct Qdisc *sch)
{
	struct forebay *f = qdisc_priv(sch);
	u32 n;

	qdisc_watchdog_cancel(&f->watchdog);
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

	qdisc_watchdog_cancel(&f->watchdog);
	list_del_init(&f->all);
	if (f->child)
		qdisc_put(f->child);
	if (f->queue)
		forebay_end(f->queue);
	if (forebay_drawing == f->stream)
		forebay_drawing = NULL;
	if (f->stream)
		forebay_stream_end(f->stream);
	kfree(f->slots);
	kfree(f->pairs);
	kfree(f->classes);
	kfree(f->hosts);
}

static int forebay_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return skb->len;
}

static int forebay_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new, struct Qdisc **old,
			 struct netlink_ext_ack *extack)
{
	struct forebay *f = qdisc_priv(sch);

	forebay_drawing = NULL;
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

static int __init forebay_module(void)
{
	return register_qdisc(&ops);
}
module_init(forebay_module)
MODULE_DESCRIPTION("Disciplines of Forebay, and records of packets");
MODULE_LICENSE("Dual MIT/GPL");
