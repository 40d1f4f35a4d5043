// SPDX-License-Identifier: GPL-2.0-only
//
// A fat tree on csg-htsim. Prints one line of JSON. Arguments: see `usage`.
//
// Network as in the template `fat-tree` of experiment files: pods of k/2 edge and k/2 aggregation
// routers, (k/2)² core routers, k³/4 hosts; each direction of a link has a rate, a drop-tail queue
// and a delay. Every host sends to the one that is half of all hosts further. A flow keeps one path
// there and one back, each drawn. TCP is that of `scenario.cc`.

#include <iostream>
#include <map>
#include <random>
#include <utility>

#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "run.h"

namespace
{

// All nodes, numbered: hosts, edge, aggregation and core routers.
class FatTree
{
public:
    FatTree(int k, linkspeed_bps rateBps, simtime_picosec delay, mem_b queueBytes)
        : half_(k / 2), hosts_(k * half_ * half_), rateBps_(rateBps), delay_(delay),
          queueBytes_(queueBytes)
    {
    }

    int hosts() const
    {
        return hosts_;
    }

    // A path between hosts of different pods, over a core router that is drawn.
    Route* path(int from, int to, std::mt19937& random)
    {
        std::uniform_int_distribution<int> draw(0, half_ - 1);
        const int position = draw(random);
        const int routers = hosts_ / half_;
        const auto edge = [&](int host) { return hosts_ + host / half_; };
        const auto aggregation = [&](int host) {
            return hosts_ + routers + host / (half_ * half_) * half_ + position;
        };
        const int core = hosts_ + 2 * routers + position * half_ + draw(random);
        auto* route = new Route();
        int node = from;
        for (int next : {edge(from), aggregation(from), core, aggregation(to), edge(to), to})
        {
            auto& link = links_[{node, next}];
            if (link.first == nullptr)
            {
                EventList& events = EventList::getTheEventList();
                link = {new Queue(rateBps_, queueBytes_, events, nullptr), new Pipe(delay_, events)};
            }
            route->push_back(link.first);
            route->push_back(link.second);
            node = next;
        }
        return route;
    }

private:
    int half_;
    int hosts_;
    linkspeed_bps rateBps_;
    simtime_picosec delay_;
    mem_b queueBytes_;
    std::map<std::pair<int, int>, std::pair<Queue*, Pipe*>> links_;
};

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 7)
    {
        std::cerr << "usage: fat-tree K RATE_BPS DELAY_NS QUEUE_BYTES DURATION_S LIMIT_S\n";
        return 2;
    }
    const auto rateBps = linkspeed_bps(std::atof(argv[2]));
    const auto delay = std::strtoull(argv[3], nullptr, 10) * PS_PER_NS;
    const auto queueBytes = mem_b(std::strtoll(argv[4], nullptr, 10));
    const double durationS = std::atof(argv[5]);
    const double limitS = std::atof(argv[6]);

    std::cout.rdbuf(nullptr); // the library reports every timeout
    EventList& events = EventList::getTheEventList();
    EventList::setEndtime(timeFromSec(durationS));
    Packet::set_packet_size(PACKET);
    TcpRtxTimerScanner timers(timeFromMs(10), events);

    FatTree tree(std::atoi(argv[1]), rateBps, delay, queueBytes);
    std::mt19937 random(1);
    std::vector<TcpSink*> sinks;
    for (int from = 0; from < tree.hosts(); ++from)
    {
        const int to = (from + tree.hosts() / 2) % tree.hosts();
        auto* source = new TcpSrc(nullptr, nullptr, events);
        auto* sink = new TcpSink();
        Route* there = tree.path(from, to, random);
        Route* back = tree.path(to, from, random);
        there->push_back(sink);
        back->push_back(source);
        source->connect(*there, *back, *sink, 0);
        timers.registerTcp(*source);
        sinks.push_back(sink);
    }
    const Ended ended = Run(durationS, limitS);
    const uint64_t delivered = Delivered(sinks);
    PrintAndExit(ended, delivered, delivered);
}
