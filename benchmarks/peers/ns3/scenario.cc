// SPDX-License-Identifier: GPL-2.0-only
//
// The benchmark's scenarios on ns-3: `scenario A` … `scenario D`. Prints one line of JSON.
//
// Sources – r1 – bottleneck – r2 – destinations. As in the experiment files of the simulator: the
// smallest round trip lies on the bottleneck, what a pair has above that on its destination's
// link; access links are so fast that they never queue; the bottleneck's queue is the only
// drop-tail one (no queue disc above it). TCP: CUBIC, SACK, timestamps, window scaling, one ACK per
// two segments, segments of 1448 bytes, initial window 10, socket buffers that never limit.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>

using namespace ns3;

namespace
{

struct Scenario
{
    uint32_t flows;
    double rateBps;
    int64_t shortestRttNs;
    int64_t longestRttNs;
    std::string queue;
    double durationS;
    double startSpreadS;
};

const std::map<std::string, Scenario> SCENARIOS = {
    {"A", {1, 20e6, 10'000'000, 10'000'000, "200p", 100, 0}},
    {"B", {1, 1e9, 20'000'000, 20'000'000, "2500000B", 30, 0}},
    {"C", {100, 1e9, 20'000'000, 120'000'000, "6250000B", 30, 0.1}},
    {"D", {1000, 10e9, 20'000'000, 120'000'000, "25000000B", 5, 0.1}},
};

constexpr uint32_t SEGMENT = 1448;
constexpr uint32_t SOCKET_BUFFER = 1U << 26;
constexpr uint16_t PORT = 5001;

int64_t
RttOf(const Scenario& scenario, uint32_t flow)
{
    const int64_t steps = std::max<int64_t>(scenario.flows - 1, 1);
    return scenario.shortestRttNs +
           (scenario.longestRttNs - scenario.shortestRttNs) * flow / steps;
}

void
ConfigureTcp()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(SOCKET_BUFFER));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(SOCKET_BUFFER));
}

} // namespace

int
main(int argc, char* argv[])
{
    const auto found = argc == 2 ? SCENARIOS.find(argv[1]) : SCENARIOS.end();
    if (found == SCENARIOS.end())
    {
        std::cerr << "usage: scenario A|B|C|D\n";
        return 2;
    }
    const Scenario& scenario = found->second;
    ConfigureTcp();

    NodeContainer routers(2);
    NodeContainer sources(scenario.flows);
    NodeContainer destinations(scenario.flows);
    Ipv4NixVectorHelper routing; // no table is searched per packet, however many hosts there are
    InternetStackHelper stack;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(routers);
    stack.Install(sources);
    stack.Install(destinations);

    PointToPointHelper bottleneck;
    bottleneck.DisableFlowControl();
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(scenario.rateBps)));
    bottleneck.SetChannelAttribute("Delay", TimeValue(NanoSeconds(scenario.shortestRttNs / 2)));
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(scenario.queue));
    PointToPointHelper access;
    access.DisableFlowControl();
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate("100Gbps")));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    TrafficControlHelper queueDiscs;
    const auto joined = [&](PointToPointHelper& link, Ptr<Node> a, Ptr<Node> b) {
        const NetDeviceContainer devices = link.Install(a, b);
        const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        for (uint32_t i = 0; i < devices.GetN(); ++i)
        {
            const Ptr<TrafficControlLayer> layer =
                devices.Get(i)->GetNode()->GetObject<TrafficControlLayer>();
            if (layer->GetRootQueueDiscOnDevice(devices.Get(i)))
            {
                queueDiscs.Uninstall(devices.Get(i));
            }
        }
        return std::make_pair(devices, interfaces);
    };

    const auto middle = joined(bottleneck, routers.Get(0), routers.Get(1));
    const Ptr<Queue<Packet>> queue =
        DynamicCast<PointToPointNetDevice>(middle.first.Get(0))->GetQueue();

    const Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < scenario.flows; ++i)
    {
        access.SetChannelAttribute("Delay", TimeValue(NanoSeconds(0)));
        joined(access, sources.Get(i), routers.Get(0));
        const int64_t extraNs = (RttOf(scenario, i) - scenario.shortestRttNs) / 2;
        access.SetChannelAttribute("Delay", TimeValue(NanoSeconds(extraNs)));
        const auto far = joined(access, routers.Get(1), destinations.Get(i));

        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), PORT));
        sinks.Add(sink.Install(destinations.Get(i)));
        BulkSendHelper bulk("ns3::TcpSocketFactory",
                            InetSocketAddress(far.second.GetAddress(1), PORT));
        bulk.SetAttribute("SendSize", UintegerValue(SEGMENT));
        ApplicationContainer sender = bulk.Install(sources.Get(i));
        sender.Start(Seconds(start->GetValue(0, scenario.startSpreadS)));
    }

    const auto begin = std::chrono::steady_clock::now();
    Simulator::Stop(Seconds(scenario.durationS));
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;

    uint64_t received = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        received += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    // Packets dropped for want of room are not among those received.
    const uint64_t packets = queue->GetTotalReceivedPackets() - queue->GetNPackets();
    std::cout << "{\"wall_s\": " << wall.count() << ", \"packets\": " << packets
              << ", \"goodput_bps\": " << std::fixed
              << static_cast<double>(received) * 8 / scenario.durationS
              << ", \"dropped\": " << queue->GetTotalDroppedPackets()
              << ", \"events\": " << Simulator::GetEventCount() << "}\n";
    Simulator::Destroy();
    return 0;
}
