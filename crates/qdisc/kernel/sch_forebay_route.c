// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sends packets that arrive at a device on through other devices, by their IPv4 destination.
 *
 * It is a qdisc in the place of `ingress`, because a qdisc can be set up with the same messages as the others. Filters
 * with the action `mirred` do the same, but take a tenth of the CPU time of a run.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

enum {
	OPT_NONE,
	/* Index of the device for all packets. */
	OPT_ONLY,
	/* Pairs: destination, as a number, and index of the device. Destinations rise. */
	OPT_LIST,
	/* Index of a device that gets a copy of each packet, before. */
	OPT_COPY,
	OPT_MAX = OPT_COPY,
};

struct pair {
	u32 ip;
	u32 index;
};

struct hop {
	u32 ip;
	struct net_device *to;
};

/* Where packets go. */
struct route {
	struct net_device *only;
	struct net_device *copy;
	u32 count;
	struct hop hops[];
};

struct data {
	struct route *route;
};

static struct net_device *find(const struct route *route, u32 ip)
{
	u32 from = 0, to = route->count;

	while (from < to) {
		u32 middle = (from + to) / 2;

		if (route->hops[middle].ip == ip)
			return route->hops[middle].to;
		if (route->hops[middle].ip < ip)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

static rx_handler_result_t pass(struct sk_buff **pskb)
{
	struct sk_buff *skb = skb_share_check(*pskb, GFP_ATOMIC);
	const struct route *route;
	struct net_device *to;

	if (!skb)
		return RX_HANDLER_CONSUMED;
	*pskb = skb;
	route = rcu_dereference(skb->dev->rx_handler_data);
	to = route->only;
	if (!to) {
		if (skb->protocol != htons(ETH_P_IP) || !pskb_may_pull(skb, sizeof(struct iphdr)))
			return RX_HANDLER_PASS;
		to = find(route, ntohl(ip_hdr(skb)->daddr));
		if (!to)
			return RX_HANDLER_PASS;
	}
	skb_push_rcsum(skb, skb->mac_len);
	if (route->copy) {
		/* With its own header: a mark must not change both. */
		struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);

		if (copy) {
			copy->dev = route->copy;
			dev_queue_xmit(copy);
		}
	}
	skb->dev = to;
	dev_queue_xmit(skb);
	return RX_HANDLER_CONSUMED;
}

static void release(struct route *route)
{
	u32 i;

	dev_put(route->only);
	dev_put(route->copy);
	for (i = 0; i < route->count; i++)
		dev_put(route->hops[i].to);
	kvfree(route);
}

/* The device with this index in the namespace of a qdisc; the caller holds it. */
static struct net_device *device(struct Qdisc *sch, u32 index)
{
	struct net_device *found = __dev_get_by_index(dev_net(qdisc_dev(sch)), index);

	dev_hold(found);
	return found;
}

static int route_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	static const struct nla_policy policy[OPT_MAX + 1] = {
		[OPT_ONLY] = { .type = NLA_U32 },
		[OPT_LIST] = { .type = NLA_BINARY },
		[OPT_COPY] = { .type = NLA_U32 },
	};
	struct data *data = qdisc_priv(sch);
	struct nlattr *tb[OPT_MAX + 1];
	const struct pair *pairs = NULL;
	struct route *route;
	u32 i, count = 0;
	int err;

	if (!opt)
		return -EINVAL;
	err = nla_parse_nested(tb, OPT_MAX, opt, policy, extack);
	if (err)
		return err;
	if (tb[OPT_LIST]) {
		pairs = nla_data(tb[OPT_LIST]);
		count = nla_len(tb[OPT_LIST]) / sizeof(*pairs);
	}
	route = kvzalloc(struct_size(route, hops, count), GFP_KERNEL);
	if (!route)
		return -ENOMEM;
	err = -ENODEV;
	if (tb[OPT_ONLY]) {
		route->only = device(sch, nla_get_u32(tb[OPT_ONLY]));
		if (!route->only)
			goto failed;
	}
	if (tb[OPT_COPY]) {
		route->copy = device(sch, nla_get_u32(tb[OPT_COPY]));
		if (!route->copy)
			goto failed;
	}
	for (i = 0; i < count; i++) {
		route->hops[i].ip = pairs[i].ip;
		route->hops[i].to = device(sch, pairs[i].index);
		if (!route->hops[i].to)
			goto failed;
		route->count = i + 1;
	}
	err = netdev_rx_handler_register(qdisc_dev(sch), pass, route);
	if (err)
		goto failed;
	data->route = route;
	return 0;

failed:
	release(route);
	return err;
}

static void route_destroy(struct Qdisc *sch)
{
	struct data *data = qdisc_priv(sch);

	if (!data->route)
		return;
	/* Waits until no packet is passed on. */
	netdev_rx_handler_unregister(qdisc_dev(sch));
	release(data->route);
}

static struct Qdisc_ops ops __read_mostly = {
	.id = "forebay_route",
	.priv_size = sizeof(struct data),
	.static_flags = TCQ_F_INGRESS,
	.init = route_init,
	.destroy = route_destroy,
	.owner = THIS_MODULE,
};

static int __init route_module_init(void)
{
	return register_qdisc(&ops);
}
device_initcall(route_module_init);
MODULE_DESCRIPTION("Forwarding between the devices of a simulated network");
MODULE_LICENSE("Dual MIT/GPL");
