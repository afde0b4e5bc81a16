"""One run of ns-3 on the dumbbell of ../ns3.toml; prints one CSV line.

    python3 case.py --aqm CoDel --flows 40 --seed 1 [--base 60] [--duration 100] [--warmup 20]

Needs the package ns3 (3.44). Waiting packets are those of the queue disc and of the device behind it, which holds
one beside the one in transmission; their mean is the exact time integral over [warmup, duration].
"""

import argparse

from ns import ns

import cppyy

AQMS = {
    "DropTail": ("ns3::FifoQueueDisc", {}),
    "RED": ("ns3::RedQueueDisc", {"MinTh": 25, "MaxTh": 75, "LInterm": 10, "QW": 0.00039992, "Gentle": True}),
    "PIE": ("ns3::PieQueueDisc", {}),
    "CoDel": ("ns3::CoDelQueueDisc", {}),
    "FqCoDel": ("ns3::FqCoDelQueueDisc", {}),
}

cppyy.cppdef(
    """
    #include "ns3/core-module.h"
    #include "ns3/network-module.h"
    #include "ns3/traffic-control-module.h"
    struct Watch {
        double warmup = 0, area = 0, last = 0;
        uint32_t disc = 0, device = 0, waiting = 0;
        uint64_t sent = 0, received = 0, dropped = 0;
        void change() {
            double now = ns3::Simulator::Now().GetSeconds();
            if (now > warmup) area += waiting * (now - std::max(last, warmup));
            last = now;
            waiting = disc + device;
        }
        bool counts() const { return ns3::Simulator::Now().GetSeconds() > warmup; }
    };
    Watch watch;
    void disc_is(uint32_t, uint32_t now) { watch.disc = now; watch.change(); }
    void device_is(uint32_t, uint32_t now) { watch.device = now; watch.change(); }
    void received(ns3::Ptr<const ns3::QueueDiscItem>) { watch.received += watch.counts(); }
    void dropped(ns3::Ptr<const ns3::QueueDiscItem>) { watch.dropped += watch.counts(); }
    void sent(ns3::Ptr<const ns3::Packet> p) { if (watch.counts()) watch.sent += p->GetSize(); }
    void look(ns3::Ptr<ns3::QueueDisc> q, ns3::Ptr<ns3::Queue<ns3::Packet>> d, ns3::Ptr<ns3::NetDevice> dev) {
        q->TraceConnectWithoutContext("PacketsInQueue", ns3::MakeCallback(&disc_is));
        d->TraceConnectWithoutContext("PacketsInQueue", ns3::MakeCallback(&device_is));
        q->TraceConnectWithoutContext("Enqueue", ns3::MakeCallback(&received));
        q->TraceConnectWithoutContext("DropBeforeEnqueue", ns3::Callback<void, ns3::Ptr<const ns3::QueueDiscItem>, const char*>(
            [](ns3::Ptr<const ns3::QueueDiscItem> i, const char*) { received(i); dropped(i); }));
        q->TraceConnectWithoutContext("DropAfterDequeue", ns3::Callback<void, ns3::Ptr<const ns3::QueueDiscItem>, const char*>(
            [](ns3::Ptr<const ns3::QueueDiscItem> i, const char*) { dropped(i); }));
        dev->TraceConnectWithoutContext("PhyTxEnd", ns3::MakeCallback(&sent));
    }
    """
)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aqm", choices=AQMS, required=True)
    parser.add_argument("--flows", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--base", type=int, default=60, help="round trip without queues in ms, at least 42")
    parser.add_argument("--duration", type=float, default=100.0)
    parser.add_argument("--warmup", type=float, default=20.0)
    return parser.parse_args()


def configure():
    """TCP as Forebay's NewReno: what differs stays named in ../README.md."""
    for key, value in {
        "ns3::TcpL4Protocol::SocketType": ns.StringValue("ns3::TcpNewReno"),
        "ns3::TcpL4Protocol::RecoveryType": ns.StringValue("ns3::TcpClassicRecovery"),
        "ns3::TcpSocketBase::Sack": ns.BooleanValue(False),
        "ns3::TcpSocketBase::Timestamp": ns.BooleanValue(False),
        "ns3::TcpSocketBase::MinRto": ns.TimeValue(ns.MilliSeconds(200)),
        "ns3::TcpSocketBase::ClockGranularity": ns.TimeValue(ns.MilliSeconds(10)),
        "ns3::TcpSocket::InitialCwnd": ns.UintegerValue(2),
        "ns3::TcpSocket::DelAckCount": ns.UintegerValue(1),
        # 458 + 40 of TCP and IP + 2 of PPP: 500 bytes on the wire.
        "ns3::TcpSocket::SegmentSize": ns.UintegerValue(458),
        "ns3::TcpSocket::SndBufSize": ns.UintegerValue(1 << 22),
        "ns3::TcpSocket::RcvBufSize": ns.UintegerValue(1 << 22),
    }.items():
        ns.Config.SetDefault(key, value)


def link(a, b, rate, delay_ms, queue="10000p"):
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", ns.StringValue(rate))
    helper.SetChannelAttribute("Delay", ns.StringValue(f"{delay_ms}ms"))
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", ns.StringValue(queue))
    return helper.Install(a, b)


def value(x):
    return ns.BooleanValue(x) if isinstance(x, bool) else ns.StringValue(str(x))


def main():
    args = options()
    configure()
    ns.RngSeedManager.SetSeed(1)
    ns.RngSeedManager.SetRun(args.seed)
    hosts, near = 5, (args.base - 40) // 2
    nodes = ns.NodeContainer()
    nodes.Create(2 + 2 * hosts)
    left, right = nodes.Get(0), nodes.Get(1)
    bottleneck = link(left, right, "10Mbps", 10, "1p")
    clients = [link(nodes.Get(2 + i), left, "100Mbps", near) for i in range(hosts)]
    servers = [link(right, nodes.Get(2 + hosts + i), "100Mbps", 10) for i in range(hosts)]
    stack = ns.InternetStackHelper()
    stack.Install(nodes)

    kind, attributes = AQMS[args.aqm]
    control = ns.TrafficControlHelper()
    control.SetRootQueueDisc(kind)
    discs = control.Install(bottleneck.Get(0))
    disc = discs.Get(0)
    for key, x in {**attributes, "MaxSize": "100p"}.items():
        disc.SetAttribute(key, value(x))
    device = bottleneck.Get(0)
    cppyy.gbl.watch.warmup = args.warmup
    queue = device.GetObject[ns.PointToPointNetDevice]().GetQueue()
    cppyy.gbl.look(disc, queue, device)

    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    addresses.Assign(bottleneck)
    ends = []
    for devices in clients + servers:
        addresses.NewNetwork()
        ends.append(addresses.Assign(devices))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()

    start = ns.CreateObject[ns.UniformRandomVariable]()
    for flow in range(args.flows):
        host = flow % hosts
        port = 5000 + flow
        target = ns.InetSocketAddress(ends[hosts + host].GetAddress(1), port).ConvertTo()
        sink = ns.PacketSinkHelper("ns3::TcpSocketFactory", target)
        sink.Install(nodes.Get(2 + hosts + host)).Start(ns.Seconds(0))
        source = ns.BulkSendHelper("ns3::TcpSocketFactory", target)
        source.SetAttribute("MaxBytes", ns.UintegerValue(0))
        source.Install(nodes.Get(2 + host)).Start(ns.Seconds(start.GetValue(0.0, 1.0)))

    ns.Simulator.Stop(ns.Seconds(args.duration))
    ns.Simulator.Run()
    watch = cppyy.gbl.watch
    watch.change()
    span = args.duration - args.warmup
    loss = watch.dropped / max(watch.received, 1)
    print(
        f"{args.base},{args.aqm},{args.flows},{args.seed},"
        f"{watch.area / span:.3f},{watch.sent * 8 / span / 1e7:.5f},{loss:.6f}",
        flush=True,
    )
    ns.Simulator.Destroy()


if __name__ == "__main__":
    main()
