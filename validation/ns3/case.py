"""One run of ns-3 on the dumbbell of ../ns3.toml; prints one CSV line.

    python3 case.py --aqm CoDel --flows 40 --seed 1 [--tcp Sack] [--ecn 0] [--base 60] [--duration 100] [--warmup 20]

Needs the package ns3 (3.44). Waiting packets are those of the queue disc and of the device behind it, which holds
one in addition to the one in transmission; their mean is the exact time integral over [warmup, duration].
"""

import argparse

from ns import ns

import cppyy

AQMS = {
    "DropTail": ("ns3::FifoQueueDisc", {}),
    "RED": ("ns3::RedQueueDisc", {"MinTh": 25, "MaxTh": 75, "LInterm": 10, "QW": 0.00039992, "Gentle": True}),
    "PIE": ("ns3::PieQueueDisc", {}),
    "CoDel": ("ns3::CoDelQueueDisc", {}),
    # Enough queues that no two flows share one.
    "FqCoDel": ("ns3::FqCoDelQueueDisc", {"Flows": 1 << 20}),
    # The same with CoDel's MinBytes at 1, for the queue of a single flow.
    "FqCoDel-1": ("ns3::FqCoDelQueueDisc", {"Flows": 1 << 20}),
}
# Congestion control, is there SACK, and the smallest timeout where round trips are long.
TCPS = {
    "Sack": ("ns3::HalfWindow", True, 1000),
    "Sack-exact": ("ns3::ExactGrowth", True, 1000),
    "Sack-200ms": ("ns3::HalfWindow", True, 200),
    "Sack-flight": ("ns3::TcpNewReno", True, 1000),
    "Newreno": ("ns3::HalfWindow", False, 1000),
}

cppyy.cppdef(
    """
    #include "ns3/core-module.h"
    #include "ns3/internet-module.h"
    #include "ns3/network-module.h"
    #include "ns3/point-to-point-module.h"
    #include "ns3/traffic-control-module.h"
    struct Watch {
        double warmup = 0, area = 0, last = 0;
        uint32_t disc = 0, device = 0, waiting = 0;
        uint64_t sent = 0, received = 0, dropped = 0, marked = 0, good = 0;
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
    void marked(ns3::Ptr<const ns3::QueueDiscItem>, const char*) { watch.marked += watch.counts(); }
    void sent(ns3::Ptr<const ns3::Packet> p) { if (watch.counts()) watch.sent += p->GetSize(); }
    void look(ns3::Ptr<ns3::QueueDisc> q, ns3::Ptr<ns3::Queue<ns3::Packet>> d, ns3::Ptr<ns3::NetDevice> dev) {
        q->TraceConnectWithoutContext("PacketsInQueue", ns3::MakeCallback(&disc_is));
        d->TraceConnectWithoutContext("PacketsInQueue", ns3::MakeCallback(&device_is));
        q->TraceConnectWithoutContext("Enqueue", ns3::MakeCallback(&received));
        using Dropped = ns3::Callback<void, ns3::Ptr<const ns3::QueueDiscItem>, const char*>;
        q->TraceConnectWithoutContext("DropBeforeEnqueue", Dropped(
            [](ns3::Ptr<const ns3::QueueDiscItem> i, const char*) { received(i); dropped(i); }));
        q->TraceConnectWithoutContext("DropAfterDequeue", Dropped(
            [](ns3::Ptr<const ns3::QueueDiscItem> i, const char*) { dropped(i); }));
        q->TraceConnectWithoutContext("Mark", ns3::MakeCallback(&marked));
        dev->TraceConnectWithoutContext("PhyTxEnd", ns3::MakeCallback(&sent));
    }
    void good(ns3::Ptr<const ns3::Packet> p, const ns3::Address&) { if (watch.counts()) watch.good += p->GetSize(); }
    void listen(ns3::Ptr<ns3::Application> sink) { sink->TraceConnectWithoutContext("Rx", ns3::MakeCallback(&good)); }
    /// NewReno that halves its window, not what is in flight, from which ns-3 leaves out what was lost or has arrived.
    struct HalfWindow : ns3::TcpNewReno {
        static ns3::TypeId GetTypeId() {
            static ns3::TypeId id =
                ns3::TypeId("ns3::HalfWindow").SetParent<ns3::TcpNewReno>().AddConstructor<HalfWindow>();
            return id;
        }
        std::string GetName() const override { return "HalfWindow"; }
        uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state, uint32_t) override {
            return std::max(2 * state->m_segmentSize, state->m_cWnd.Get() / 2);
        }
        ns3::Ptr<ns3::TcpCongestionOps> Fork() override { return ns3::CopyObject<HalfWindow>(this); }
    };
    /// The same with nothing lost of its growth: NewReno adds whole bytes, of 6.1 only 6.
    struct ExactGrowth : HalfWindow {
        double rest = 0;
        static ns3::TypeId GetTypeId() {
            static ns3::TypeId id =
                ns3::TypeId("ns3::ExactGrowth").SetParent<HalfWindow>().AddConstructor<ExactGrowth>();
            return id;
        }
        void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> state, uint32_t acked) override {
            if (acked == 0) return;
            rest += double(state->m_segmentSize) * state->m_segmentSize / state->m_cWnd.Get();
            uint32_t whole = rest;
            rest -= whole;
            state->m_cWnd += whole;
        }
        ns3::Ptr<ns3::TcpCongestionOps> Fork() override { return ns3::CopyObject<ExactGrowth>(this); }
    };
    void make_known() { HalfWindow::GetTypeId(); ExactGrowth::GetTypeId(); }
    /// A line that takes up to 10 us more for a packet, order kept: without it equal packets come in ties.
    struct Wandering : ns3::PointToPointChannel {
        ns3::Ptr<ns3::UniformRandomVariable> draw = ns3::CreateObject<ns3::UniformRandomVariable>();
        std::map<ns3::PointToPointNetDevice*, ns3::Time> last;
        bool TransmitStart(ns3::Ptr<const ns3::Packet> p, ns3::Ptr<ns3::PointToPointNetDevice> from,
                           ns3::Time tx) override {
            ns3::Time now = ns3::Simulator::Now();
            ns3::Time& end = last[ns3::PeekPointer(from)];
            end = std::max(end, now + tx + ns3::NanoSeconds(draw->GetInteger(0, 10000)));
            return ns3::PointToPointChannel::TransmitStart(p, from, end - now);
        }
    };
    void join(ns3::Ptr<ns3::Node> a, ns3::Ptr<ns3::Node> b, ns3::NetDeviceContainer& ends, ns3::DataRate rate,
              ns3::Time delay) {
        auto line = ns3::CreateObject<Wandering>();
        line->SetAttribute("Delay", ns3::TimeValue(delay));
        for (auto node : {a, b}) {
            auto device = ns3::CreateObject<ns3::PointToPointNetDevice>();
            device->SetAddress(ns3::Mac48Address::Allocate());
            device->SetDataRate(rate);
            auto queue = ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>();
            queue->SetMaxSize(ns3::QueueSize("10000p"));
            device->SetQueue(queue);
            node->AddDevice(device);
            auto interface = ns3::CreateObject<ns3::NetDeviceQueueInterface>();
            interface->GetTxQueue(0)->ConnectQueueTraces(queue);
            device->AggregateObject(interface);
            device->Attach(line);
            ends.Add(device);
        }
    }
    """
)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aqm", choices=AQMS, required=True)
    parser.add_argument("--tcp", choices=TCPS, default="Sack")
    parser.add_argument("--ecn", type=int, choices=[0, 1], default=0)
    parser.add_argument("--flows", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--base", type=int, default=60, help="round trip without queues in ms, at least 42")
    parser.add_argument("--duration", type=float, default=100.0)
    parser.add_argument("--warmup", type=float, default=20.0)
    return parser.parse_args()


def configure(control, sack, min_rto, ecn):
    """TCP as Forebay's: what differs stays named in ../README.md."""
    cppyy.gbl.make_known()
    for key, value in {
        "ns3::TcpL4Protocol::SocketType": ns.StringValue(control),
        "ns3::TcpL4Protocol::RecoveryType": ns.StringValue("ns3::TcpClassicRecovery"),
        "ns3::TcpSocketBase::Sack": ns.BooleanValue(sack),
        "ns3::TcpSocketBase::UseEcn": ns.StringValue("On" if ecn else "Off"),
        "ns3::TcpSocketBase::Timestamp": ns.BooleanValue(False),
        "ns3::TcpSocketBase::MinRto": ns.TimeValue(ns.MilliSeconds(min_rto)),
        "ns3::TcpSocketBase::ClockGranularity": ns.TimeValue(ns.MilliSeconds(10)),
        "ns3::TcpSocket::InitialCwnd": ns.UintegerValue(2),
        "ns3::TcpSocket::DelAckCount": ns.UintegerValue(1),
        # 458 + 40 of TCP and IP + 2 of PPP: 500 bytes on the wire.
        "ns3::TcpSocket::SegmentSize": ns.UintegerValue(458),
        "ns3::TcpSocket::SndBufSize": ns.UintegerValue(1 << 22),
        "ns3::TcpSocket::RcvBufSize": ns.UintegerValue(1 << 22),
    }.items():
        ns.Config.SetDefault(key, value)


def bottleneck_link(a, b):
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", ns.StringValue("10Mbps"))
    helper.SetChannelAttribute("Delay", ns.StringValue("10ms"))
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", ns.StringValue("1p"))
    return helper.Install(a, b)


def link(a, b, delay_ms):
    ends = ns.NetDeviceContainer()
    cppyy.gbl.join(a, b, ends, ns.DataRate("100Mbps"), ns.MilliSeconds(delay_ms))
    return ends


def value(x):
    return ns.BooleanValue(x) if isinstance(x, bool) else ns.StringValue(str(x))


def main():
    args = options()
    control, sack, long = TCPS[args.tcp]
    configure(control, sack, long if args.base > 200 else 200, args.ecn)
    if args.aqm == "FqCoDel-1":
        ns.Config.SetDefault("ns3::CoDelQueueDisc::MinBytes", ns.UintegerValue(1))
    ns.RngSeedManager.SetSeed(1)
    ns.RngSeedManager.SetRun(args.seed)
    hosts, near = 5, (args.base - 40) // 2
    nodes = ns.NodeContainer()
    nodes.Create(2 + 2 * hosts)
    left, right = nodes.Get(0), nodes.Get(1)
    bottleneck = bottleneck_link(left, right)
    clients = [link(nodes.Get(2 + i), left, near) for i in range(hosts)]
    servers = [link(right, nodes.Get(2 + hosts + i), 10) for i in range(hosts)]
    stack = ns.InternetStackHelper()
    stack.Install(nodes)

    kind, attributes = AQMS[args.aqm]
    control = ns.TrafficControlHelper()
    control.SetRootQueueDisc(kind)
    discs = control.Install(bottleneck.Get(0))
    disc = discs.Get(0)
    for key, x in {**attributes, "MaxSize": "100p"}.items():
        disc.SetAttribute(key, value(x))
    if args.aqm != "DropTail":
        disc.SetAttribute("UseEcn", value(args.ecn == 1))
    if args.aqm.startswith("Fq"):
        # Three packets: the disc counts them without the 2 bytes of PPP.
        disc.GetObject[ns.FqCoDelQueueDisc]().SetQuantum(1494)
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
        sinks = sink.Install(nodes.Get(2 + hosts + host))
        sinks.Start(ns.Seconds(0))
        cppyy.gbl.listen(sinks.Get(0))
        source = ns.BulkSendHelper("ns3::TcpSocketFactory", target)
        source.SetAttribute("MaxBytes", ns.UintegerValue(0))
        source.Install(nodes.Get(2 + host)).Start(ns.Seconds(start.GetValue(0.0, 1.0)))

    ns.Simulator.Stop(ns.Seconds(args.duration))
    ns.Simulator.Run()
    watch = cppyy.gbl.watch
    watch.change()
    span = args.duration - args.warmup
    loss, marks = (x / max(watch.received, 1) for x in (watch.dropped, watch.marked))
    print(
        f"{args.base},{args.aqm},{args.ecn},{args.tcp},{args.flows},{args.seed},{watch.area / span:.3f},"
        f"{watch.sent * 8 / span / 1e7:.5f},{loss:.6f},{marks:.6f},{watch.good * 500 / 458 * 8 / span / 1e7:.5f}",
        flush=True,
    )
    ns.Simulator.Destroy()


if __name__ == "__main__":
    main()
