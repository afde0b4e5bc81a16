// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The transmitter of a link, with the queue as a child. It takes a packet from the queue when the one before has been sent,
 * and sends it after the time that its bits take, as a link of the simulator does (crates/sim/src/wire). tbf(8) is different:
 * it lets the first packet of a busy period pass at once.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

struct line {
	struct Qdisc *child;
	/* The packet in transmission; the bits x 1e9 that were left of it at `since`. */
	struct sk_buff *sending;
	u64 work, since;
	/* Bits per second; at 0 nothing is sent. */
	u64 rate;
	struct qdisc_watchdog watchdog;
};

enum { OPT_LINE_RATE = 1, OPT_LINE_MAX = OPT_LINE_RATE };

static const struct nla_policy policy[OPT_LINE_MAX + 1] = {
	[OPT_LINE_RATE] = { .type = NLA_U64 },
};

/* When the packet in transmission has been sent. */
static u64 ends(const struct line *line)
{
	return line->rate ? line->since + div64_u64(line->work + line->rate / 2, line->rate) : U64_MAX;
}

/* Begins to send the next packet. */
static void begin(struct line *line, u64 at)
{
	line->sending = line->child->ops->dequeue(line->child);
	line->since = at;
	if (line->sending)
		line->work = (u64)qdisc_pkt_len(line->sending) * 8 * NSEC_PER_SEC;
}

static int line_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct line *line = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	int ret = qdisc_enqueue(skb, line->child, to_free);

	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *line_dequeue(struct Qdisc *sch)
{
	struct line *line = qdisc_priv(sch);
	u64 now = ktime_get_ns(), end;
	struct sk_buff *skb;

	if (!line->sending)
		begin(line, now);
	if (!line->sending)
		return NULL;
	end = ends(line);
	if (end > now) {
		if (end != U64_MAX)
			qdisc_watchdog_schedule_ns(&line->watchdog, end);
		return NULL;
	}
	skb = line->sending;
	/* Timers are up to 2 us late: the next packet begins when this one ended. */
	begin(line, end);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	qdisc_bstats_update(sch, skb);
	return skb;
}

static int line_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct line *line = qdisc_priv(sch);
	struct nlattr *tb[OPT_LINE_MAX + 1];
	int err = opt ? nla_parse_nested_deprecated(tb, OPT_LINE_MAX, opt, policy, extack) : -EINVAL;
	u64 now = ktime_get_ns(), sent;

	if (err)
		return err;
	if (!tb[OPT_LINE_RATE])
		return -EINVAL;
	sch_tree_lock(sch);
	sent = line->sending ? line->rate * (now - line->since) : 0;
	line->work -= min(sent, line->work);
	line->since = now;
	line->rate = nla_get_u64(tb[OPT_LINE_RATE]);
	sch_tree_unlock(sch);
	/* The packet in transmission ends at another time. */
	__netif_schedule(qdisc_root_sleeping(sch));
	return 0;
}

static int line_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct line *line = qdisc_priv(sch);

	qdisc_watchdog_init(&line->watchdog, sch);
	line->child = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops, TC_H_MAKE(sch->handle, 1), extack);
	if (!line->child)
		return -ENOMEM;
	qdisc_hash_add(line->child, true);
	return line_change(sch, opt, extack);
}

static void line_reset(struct Qdisc *sch)
{
	struct line *line = qdisc_priv(sch);

	qdisc_watchdog_cancel(&line->watchdog);
	qdisc_reset(line->child);
	kfree_skb(line->sending);
	line->sending = NULL;
}

static void line_destroy(struct Qdisc *sch)
{
	struct line *line = qdisc_priv(sch);

	qdisc_watchdog_cancel(&line->watchdog);
	if (line->child)
		qdisc_put(line->child);
}

static int line_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	return skb->len;
}

static int line_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new, struct Qdisc **old,
		      struct netlink_ext_ack *extack)
{
	struct line *line = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ? new : &noop_qdisc, &line->child);
	return 0;
}

static struct Qdisc *line_leaf(struct Qdisc *sch, unsigned long arg)
{
	return ((struct line *)qdisc_priv(sch))->child;
}

static unsigned long line_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void line_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static int line_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb, struct tcmsg *tcm)
{
	return 0;
}

static const struct Qdisc_class_ops class_ops = {
	.graft = line_graft,
	.leaf = line_leaf,
	.find = line_find,
	.walk = line_walk,
	.dump = line_dump_class,
};

static struct Qdisc_ops ops __read_mostly = {
	.cl_ops = &class_ops,
	.id = "forebay_line",
	.priv_size = sizeof(struct line),
	.enqueue = line_enqueue,
	.dequeue = line_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = line_init,
	.change = line_change,
	.reset = line_reset,
	.destroy = line_destroy,
	.dump = line_dump,
	.owner = THIS_MODULE,
};

static int __init line_module(void)
{
	return register_qdisc(&ops);
}
module_init(line_module)
MODULE_DESCRIPTION("The transmitter of a link");
MODULE_LICENSE("Dual MIT/GPL");
