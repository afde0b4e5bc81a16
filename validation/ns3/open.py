"""ns-3's queue discs under arrivals that no one answers; prints one CSV line.

    python3 open.py --aqm CoDel --arrivals steady [--limit 100000] [--seed 1]

Needs the package ns3 (3.44). Packets of 500 bytes, IP header included, come at fixed times for 10 s. A server of
10 Mb/s takes the next one as soon as the last has left; there is no device. The line ends with the numbers of the
packets that were dropped, each as its distance from the one before, and `-` for PIE, which drops at random.
"""

import argparse

from ns import ns

import cppyy

AQMS = {
    "PIE": ("ns3::PieQueueDisc", {}),
    # Without a burst allowance.
    "PIE-0": ("ns3::PieQueueDisc", {"MaxBurstAllowance": "0s"}),
    "CoDel": ("ns3::CoDelQueueDisc", {}),
    "FqCoDel": ("ns3::FqCoDelQueueDisc", {"Flows": 1 << 20}),
    # The same with CoDel's MinBytes at 1, for the queue of a single flow.
    "FqCoDel-1": ("ns3::FqCoDelQueueDisc", {"Flows": 1 << 20}),
}
SECOND = 1_000_000_000

cppyy.cppdef(
    """
    #include "ns3/core-module.h"
    #include "ns3/internet-module.h"
    #include "ns3/network-module.h"
    #include "ns3/traffic-control-module.h"
    using namespace ns3;
    struct Server {
        Ptr<QueueDisc> disc;
        bool busy = false;
        double area = 0;
        int64_t last = 0;
        uint32_t waiting = 0, offered = 0;
        std::vector<uint32_t> dropped;
        std::vector<uint64_t> uids;
        void next() {
            if (busy || !disc->Dequeue()) return;
            busy = true;
            Simulator::Schedule(MicroSeconds(400), &Server::done, this);
        }
        void done() { busy = false; next(); }
        void level(uint32_t, uint32_t now) {
            int64_t t = Simulator::Now().GetNanoSeconds();
            area += double(waiting) * (t - last);
            last = t;
            waiting = now;
        }
        void lost(Ptr<const QueueDiscItem> item, const char*) {
            Ipv4Header ip = DynamicCast<const Ipv4QueueDiscItem>(item)->GetHeader();
            dropped.push_back(ip.GetDestination().Get());
        }
        /// The packet's number is its destination; the flow is the source.
        void arrive(uint32_t flow) {
            auto packet = Create<Packet>(480);
            Ipv4Header ip;
            ip.SetSource(Ipv4Address(flow + 1));
            ip.SetDestination(Ipv4Address(offered++));
            ip.SetProtocol(253);
            ip.SetPayloadSize(480);
            disc->Enqueue(Create<Ipv4QueueDiscItem>(packet, Address(), 0x0800, ip));
            next();
        }
        void take(Ptr<QueueDisc> d) {
            disc = d;
            d->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Server::level, this));
            d->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Server::lost, this));
            d->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Server::lost, this));
            d->Initialize();
        }
        void at(int64_t ns, uint32_t flow) { Simulator::Schedule(NanoSeconds(ns), &Server::arrive, this, flow); }
    };
    Server server;
    /// Flows by their source alone: the destination is the packet's number.
    struct BySource : PacketFilter {
        bool CheckProtocol(Ptr<QueueDiscItem>) const override { return true; }
        int32_t DoClassify(Ptr<QueueDiscItem> item) const override {
            return DynamicCast<Ipv4QueueDiscItem>(item)->GetHeader().GetSource().Get();
        }
    };
    void classify(Ptr<QueueDisc> disc) { disc->AddPacketFilter(CreateObject<BySource>()); }
    """
)


def every(gap, flow=0, start=0, count=10 * SECOND):
    """A flow with a packet every `gap` ns."""
    return [(t, flow) for t in range(start + gap, 10 * SECOND, gap)][:count]


def arrivals(name):
    """The same as in validation/src/ns3/open.rs: times in ns, flows."""
    if name == "steady":  # 1.2 times the rate
        return every(333_333)
    if name == "double":
        return every(200_003)
    if name == "bursts":  # 200 ms at twice the rate, twice a second
        return [x for start in range(0, 10 * SECOND, SECOND // 2) for x in every(200_003, 0, start, 1000)]
    if name == "many":  # 40 flows at 1.2 times the rate together
        return sorted(x for i in range(40) for x in every(13_333_333, i, 333_331 * i))
    # Ten flows: half the rate, a quarter, a sixth and so on; 1.46 times in all.
    return sorted(x for i in range(10) for x in every(800_003 * (i + 1) + 7 * i, i))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aqm", choices=AQMS, required=True)
    parser.add_argument("--arrivals", choices=["steady", "double", "bursts", "flows", "many"], required=True)
    parser.add_argument("--limit", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ns.RngSeedManager.SetSeed(1)
    ns.RngSeedManager.SetRun(args.seed)
    if args.aqm == "FqCoDel-1":
        ns.Config.SetDefault("ns3::CoDelQueueDisc::MinBytes", ns.UintegerValue(1))
    kind, attributes = AQMS[args.aqm]
    factory = ns.ObjectFactory()
    factory.SetTypeId(kind)
    disc = factory.Create[ns.QueueDisc]()
    for key, x in {**attributes, "MaxSize": f"{args.limit}p", "UseEcn": "false"}.items():
        disc.SetAttribute(key, ns.StringValue(str(x)))
    server = cppyy.gbl.server
    if args.aqm.startswith("Fq"):
        disc.GetObject[ns.FqCoDelQueueDisc]().SetQuantum(1500)
        cppyy.gbl.classify(disc)
    server.take(disc)
    for time, flow in arrivals(args.arrivals):
        server.at(time, flow)
    ns.Simulator.Stop(ns.Seconds(10))
    ns.Simulator.Run()
    server.level(0, 0)
    numbers = list(server.dropped)
    gaps = [] if args.aqm.startswith("PIE") else [b - a for a, b in zip([0] + numbers, numbers)]
    print(
        f"{args.aqm},{args.arrivals},{args.limit},{args.seed},{server.offered},{len(numbers)},"
        f"{server.area / 1e10:.4f},{' '.join(map(str, gaps)) or '-'}",
        flush=True,
    )
    ns.Simulator.Destroy()


if __name__ == "__main__":
    main()
