// SPDX-License-Identifier: GPL-2.0-only
//
// A dumbbell on csg-htsim. Prints one line of JSON. Arguments: see `usage`.
//
// Network as in the simulator's experiment files: the smallest RTT is on the bottleneck, the rest
// of a flow's RTT on the link of its destination. The bottleneck has a rate and a drop-tail queue
// in both directions. Access links are mere delays, or have a rate of their own. htsim's TCP is
// NewReno without SACK and sends an ACK per packet. Packets of 1500 bytes carry 1448.

#include <algorithm>
#include <iostream>
#include <random>

#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "run.h"

namespace
{

constexpr double START_S = 0.1;
constexpr mem_b AMPLE = mem_b(1) << 40;

// A drop-tail queue that counts what leaves it.
class Counted : public Queue
{
public:
    using Queue::Queue;
    uint64_t left = 0;

protected:
    void completeService() override
    {
        ++left;
        Queue::completeService();
    }
};

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 9)
    {
        std::cerr << "usage: scenario FLOWS RATE_BPS SHORTEST_RTT_NS LONGEST_RTT_NS QUEUE_BYTES "
                     "DURATION_S ACCESS_BPS|0 LIMIT_S\n";
        return 2;
    }
    const auto flows = std::strtoul(argv[1], nullptr, 10);
    const auto rateBps = linkspeed_bps(std::atof(argv[2]));
    const auto shortestNs = std::strtoull(argv[3], nullptr, 10);
    const auto longestNs = std::strtoull(argv[4], nullptr, 10);
    const auto queueBytes = mem_b(std::strtoll(argv[5], nullptr, 10));
    const double durationS = std::atof(argv[6]);
    const auto accessBps = linkspeed_bps(std::atof(argv[7]));
    const double limitS = std::atof(argv[8]);

    std::cout.rdbuf(nullptr); // the library reports every timeout
    EventList& events = EventList::getTheEventList();
    EventList::setEndtime(timeFromSec(durationS));
    Packet::set_packet_size(PACKET);
    TcpRtxTimerScanner timers(timeFromMs(10), events);

    Counted queue(rateBps, queueBytes, events, nullptr);
    Queue queueBack(rateBps, queueBytes, events, nullptr);
    Pipe pipe(shortestNs / 2 * PS_PER_NS, events);
    Pipe pipeBack(shortestNs / 2 * PS_PER_NS, events);

    // The default of 100 packets is far below the window that a fast line needs, and beyond it
    // the window grows by whole bytes per ACK or not at all.
    const double bdpBytes = double(rateBps) / 8 * double(shortestNs) / 1e9 / double(flows);
    const auto ssthresh = uint64_t(std::max(100.0 * PACKET, 1.2 * bdpBytes));

    std::mt19937 random(1);
    std::uniform_real_distribution<double> startS(0, flows > 1 ? START_S : 0);
    std::vector<TcpSink*> sinks;
    for (unsigned long i = 0; i < flows; ++i)
    {
        const auto steps = std::max<uint64_t>(flows - 1, 1);
        const auto extraPs = (longestNs - shortestNs) * i / steps / 2 * PS_PER_NS;
        auto* source = new TcpSrc(nullptr, nullptr, events);
        auto* sink = new TcpSink();
        auto* there = new Route();
        auto* back = new Route();
        const auto access = [&](Route* route, simtime_picosec delay) {
            if (accessBps > 0)
            {
                route->push_back(new Queue(accessBps, AMPLE, events, nullptr));
            }
            if (delay > 0)
            {
                route->push_back(new Pipe(delay, events));
            }
        };
        access(there, 0);
        there->push_back(&queue);
        there->push_back(&pipe);
        access(there, extraPs);
        there->push_back(sink);
        access(back, extraPs);
        back->push_back(&queueBack);
        back->push_back(&pipeBack);
        access(back, 0);
        back->push_back(source);
        source->set_ssthresh(ssthresh);
        source->connect(*there, *back, *sink, timeFromSec(startS(random)));
        timers.registerTcp(*source);
        sinks.push_back(sink);
    }

    const Ended ended = Run(durationS, limitS);
    PrintAndExit(ended, queue.left, Delivered(sinks));
}
