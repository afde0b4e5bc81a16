// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Devices of links, and where packets go after them.
 *
 * - A device of kind "forebay" stands for a link or a wire. What its queue sends enters the queue of the next device.
 *   A pair of veth(4) devices with filters does the same, but takes a quarter of the CPU time of a run.
 * - The qdisc "forebay_route", in the place of `ingress`, says which device is next, by the IPv4 destination: of a
 *   device of this kind, or of another at which packets arrive. It is a qdisc because these can be set up with the same
 *   messages as the others.
 */
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/rtnetlink.h>

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

/* The next device of a packet; NULL if there is none. */
static struct net_device *next(const struct route *route, struct sk_buff *skb)
{
	if (route->only)
		return route->only;
	if (skb->protocol != htons(ETH_P_IP) || !pskb_may_pull(skb, skb_network_offset(skb) + sizeof(struct iphdr)))
		return NULL;
	return find(route, ntohl(ip_hdr(skb)->daddr));
}

/* Puts a packet, with its Ethernet header, into the queue of the next device. */
static void send(const struct route *route, struct sk_buff *skb, struct net_device *to)
{
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
	to = next(route, skb);
	if (!to)
		return RX_HANDLER_PASS;
	skb_push_rcsum(skb, skb->mac_len);
	send(route, skb, to);
	return RX_HANDLER_CONSUMED;
}

/* A device of a link; without a route it drops what is sent. */
struct link_data {
	struct route __rcu *route;
};

static netdev_tx_t link_xmit(struct sk_buff *skb, struct net_device *dev)
{
	const struct link_data *data = netdev_priv(dev);
	const struct route *route = rcu_dereference_bh(data->route);
	struct net_device *to = route ? next(route, skb) : NULL;

	if (to)
		send(route, skb, to);
	else
		kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops link_ops = {
	.ndo_start_xmit = link_xmit,
};

static void link_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &link_ops;
	dev->needs_free_netdev = true;
	dev->flags |= IFF_NOARP;
	dev->priv_flags |= IFF_NO_QUEUE;
	/* A queue may send while another device is sending to it. */
	dev->lltx = true;
	/* Checksums are completed by nobody, and verified by nobody. */
	dev->features |= NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
}

static struct rtnl_link_ops link_kind __read_mostly = {
	.kind = "forebay",
	.priv_size = sizeof(struct link_data),
	.setup = link_setup,
};

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
	if (qdisc_dev(sch)->netdev_ops == &link_ops) {
		struct link_data *link = netdev_priv(qdisc_dev(sch));

		rcu_assign_pointer(link->route, route);
	} else {
		err = netdev_rx_handler_register(qdisc_dev(sch), pass, route);
		if (err)
			goto failed;
	}
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
	if (qdisc_dev(sch)->netdev_ops == &link_ops) {
		struct link_data *link = netdev_priv(qdisc_dev(sch));

		RCU_INIT_POINTER(link->route, NULL);
	} else {
		netdev_rx_handler_unregister(qdisc_dev(sch));
	}
	/* Until no packet is passed on. */
	synchronize_net();
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
	int err = rtnl_link_register(&link_kind);

	return err ? err : register_qdisc(&ops);
}
device_initcall(route_module_init);
MODULE_DESCRIPTION("Forwarding between the devices of a simulated network");
MODULE_LICENSE("Dual MIT/GPL");
