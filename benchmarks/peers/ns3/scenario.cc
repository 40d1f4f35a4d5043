// SPDX-License-Identifier: GPL-2.0-only
//
// A dumbbell on ns-3. Prints one line of JSON. Arguments: see `usage`.
//
// Network as in the simulator's experiment files: the smallest RTT is on the bottleneck, the rest
// of a flow's RTT on the link of its destination. The bottleneck's queues are the only ones that
// fill (no queue disc above them). Access links are mere delays, or have a rate of their own.
// TCP: CUBIC, SACK, timestamps, window scaling, one ACK per two segments, segments of 1448 bytes,
// initial window 10, socket buffers that never limit.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/ppp-header.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>

using namespace ns3;

namespace
{

constexpr uint32_t SEGMENT = 1448;
constexpr double LEAST_BUFFER_BYTES = 4e6;
constexpr uint16_t PORT = 5001;
constexpr uint16_t PPP_IPV4 = 0x0021;
constexpr double START_S = 0.1;
const Time CHECK = MilliSeconds(10);

struct Scenario
{
    uint32_t flows;
    double rateBps;
    int64_t shortestRttNs;
    int64_t longestRttNs;
    uint64_t queueBytes;
    double durationS;
    double accessBps;
    double limitS;
};

// A link without serialisation: an event per packet where a point-to-point device needs two.
class WireDevice : public PointToPointNetDevice
{
  public:
    void Wire(Ptr<PointToPointNetDevice> peer, Time delay)
    {
        m_peer = peer;
        m_delay = delay;
    }

    bool Send(Ptr<Packet> packet, const Address&, uint16_t) override
    {
        PppHeader header;
        header.SetProtocol(PPP_IPV4);
        packet->AddHeader(header);
        Simulator::ScheduleWithContext(m_peer->GetNode()->GetId(),
                                       m_delay,
                                       &PointToPointNetDevice::Receive,
                                       m_peer,
                                       packet);
        return true;
    }

  private:
    Ptr<PointToPointNetDevice> m_peer;
    Time m_delay;
};

// Peak memory in bytes (proc(5)).
uint64_t
PeakBytes()
{
    std::ifstream status("/proc/self/status");
    std::string word;
    uint64_t kib = 0;
    while (status >> word && word != "VmHWM:")
    {
    }
    status >> kib;
    return kib * 1024;
}

double
ProcessorTime()
{
    return double(std::clock()) / CLOCKS_PER_SEC;
}

void
StopAt(double limitS)
{
    if (ProcessorTime() > limitS)
    {
        Simulator::Stop();
        return;
    }
    Simulator::Schedule(CHECK, StopAt, limitS);
}

void
ConfigureTcp(const Scenario& scenario)
{
    // Four times what fits into path and queue at once. Applications fill the whole buffer with
    // packets, so that a larger one would cost memory.
    const double path = scenario.rateBps / 8 * double(scenario.longestRttNs) / 1e9;
    const double most = 4 * (path + double(scenario.queueBytes)) / scenario.flows;
    const auto buffer = uint32_t(std::max(LEAST_BUFFER_BYTES, most));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
}

// A link without serialisation, with its channel (routing follows channels).
NetDeviceContainer
InstallWires(Ptr<Node> a, Ptr<Node> b, Time delay)
{
    const Ptr<PointToPointChannel> channel = CreateObject<PointToPointChannel>();
    const Ptr<WireDevice> devices[] = {CreateObject<WireDevice>(), CreateObject<WireDevice>()};
    const Ptr<Node> nodes[] = {a, b};
    NetDeviceContainer out;
    for (int i = 0; i < 2; ++i)
    {
        devices[i]->SetAddress(Mac48Address::Allocate());
        devices[i]->SetQueue(CreateObject<DropTailQueue<Packet>>());
        nodes[i]->AddDevice(devices[i]);
        devices[i]->Attach(channel);
        devices[i]->Wire(devices[1 - i], delay);
        out.Add(devices[i]);
    }
    return out;
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 9)
    {
        std::cerr << "usage: scenario FLOWS RATE_BPS SHORTEST_RTT_NS LONGEST_RTT_NS QUEUE_BYTES "
                     "DURATION_S ACCESS_BPS|0 LIMIT_S\n";
        return 2;
    }
    const Scenario scenario{uint32_t(std::strtoul(argv[1], nullptr, 10)),
                            std::atof(argv[2]),
                            std::strtoll(argv[3], nullptr, 10),
                            std::strtoll(argv[4], nullptr, 10),
                            std::strtoull(argv[5], nullptr, 10),
                            std::atof(argv[6]),
                            std::atof(argv[7]),
                            std::atof(argv[8])};
    ConfigureTcp(scenario);

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
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>",
                        "MaxSize",
                        StringValue(std::to_string(scenario.queueBytes) + "B"));
    PointToPointHelper access;
    access.DisableFlowControl();
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    TrafficControlHelper queueDiscs;
    const auto addressed = [&](const NetDeviceContainer& devices) {
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
        return interfaces;
    };
    const auto joined = [&](Ptr<Node> a, Ptr<Node> b, Time delay) {
        if (scenario.accessBps == 0)
        {
            return addressed(InstallWires(a, b, delay));
        }
        access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(scenario.accessBps)));
        access.SetChannelAttribute("Delay", TimeValue(delay));
        return addressed(access.Install(a, b));
    };

    const NetDeviceContainer middle = bottleneck.Install(routers);
    addressed(middle);
    const Ptr<Queue<Packet>> queue =
        DynamicCast<PointToPointNetDevice>(middle.Get(0))->GetQueue();

    const Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < scenario.flows; ++i)
    {
        const int64_t steps = std::max<int64_t>(scenario.flows - 1, 1);
        const int64_t extraNs = (scenario.longestRttNs - scenario.shortestRttNs) * i / steps / 2;
        joined(sources.Get(i), routers.Get(0), NanoSeconds(0));
        const auto far = joined(routers.Get(1), destinations.Get(i), NanoSeconds(extraNs));

        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), PORT));
        sinks.Add(sink.Install(destinations.Get(i)));
        BulkSendHelper bulk("ns3::TcpSocketFactory",
                            InetSocketAddress(far.GetAddress(1), PORT));
        bulk.SetAttribute("SendSize", UintegerValue(SEGMENT));
        ApplicationContainer sender = bulk.Install(sources.Get(i));
        sender.Start(Seconds(start->GetValue(0, scenario.flows > 1 ? START_S : 0)));
    }

    const double begin = ProcessorTime();
    Simulator::Schedule(CHECK, StopAt, begin + scenario.limitS);
    Simulator::Stop(Seconds(scenario.durationS));
    Simulator::Run();
    const double cpuS = ProcessorTime() - begin;
    const double simulatedS = Simulator::Now().GetSeconds();

    uint64_t received = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        received += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    // Packets that the full queue dropped are not among those received.
    const uint64_t packets = queue->GetTotalReceivedPackets() - queue->GetNPackets();
    std::cout << std::fixed << "{\"cpu_s\": " << cpuS << ", \"packets\": " << packets
              << ", \"goodput_bps\": " << double(received) * 8 / simulatedS
              << ", \"simulated_s\": " << simulatedS
              << ", \"peak_bytes\": " << PeakBytes()
              << ", \"events\": " << Simulator::GetEventCount() << "}\n";
    std::cout.flush();
    std::_Exit(0); // taking the network apart is no part of the measurement
}
