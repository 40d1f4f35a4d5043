// SPDX-License-Identifier: GPL-2.0-only
//
// What our programs for csg-htsim share: the event loop with a limit of processor time, and the line
// of JSON that they print.

#ifndef DUMBBELL_HTSIM_RUN_H
#define DUMBBELL_HTSIM_RUN_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "eventlist.h"
#include "tcp.h"

constexpr int PACKET = 1500;
constexpr int SEGMENT = 1448;
constexpr simtime_picosec PS_PER_NS = 1000;

// Peak memory in bytes (proc(5)).
inline uint64_t PeakBytes()
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

inline double ProcessorTime()
{
    return double(std::clock()) / CLOCKS_PER_SEC;
}

// An event loop that ended: what it cost and how far it came.
struct Ended
{
    double cpuS;
    double simulatedS;
    uint64_t events;
};

// Runs the event loop, at most for `limitS` of processor time.
inline Ended Run(double durationS, double limitS)
{
    const double begin = ProcessorTime();
    uint64_t events = 0;
    double spent = 0;
    while (EventList::doNextEvent())
    {
        if (++events % 65536 == 0 && (spent = ProcessorTime() - begin) > limitS)
        {
            break;
        }
    }
    const double simulatedS = spent > limitS ? timeAsSec(EventList::now()) : durationS;
    return {ProcessorTime() - begin, simulatedS, events};
}

// Data packets that arrived in order.
inline uint64_t Delivered(const std::vector<TcpSink*>& sinks)
{
    uint64_t packets = 0;
    for (const TcpSink* sink : sinks)
    {
        packets += sink->_cumulative_ack / PACKET;
    }
    return packets;
}

[[noreturn]] inline void PrintAndExit(const Ended& ended, uint64_t packets, uint64_t delivered)
{
    std::printf("{\"cpu_s\": %.6f, \"packets\": %llu, \"goodput_bps\": %.0f, "
                "\"simulated_s\": %.6f, \"peak_bytes\": %llu, \"events\": %llu}\n",
                ended.cpuS, (unsigned long long)packets,
                double(delivered) * SEGMENT * 8 / ended.simulatedS, ended.simulatedS,
                (unsigned long long)PeakBytes(), (unsigned long long)ended.events);
    std::fflush(stdout);
    std::_Exit(0);
}

#endif
