# SPDX-License-Identifier: GPL-2.0-only
#
# A dumbbell on ns-2: `ns scenario.tcl ARGUMENTS`. Prints one line of JSON.
#
# Network as in the simulator's experiment files: the smallest RTT is on the bottleneck, the rest
# of a flow's RTT at its destination. With access links each flow has hosts of its own; without,
# all agents are at the routers, and a mere delay is before and behind each sink. TCP/Linux with
# CUBIC, SACK, timestamps, one ACK per two segments, segments of 1448 bytes, initial window 10.

if {$argc != 8} {
    puts stderr "usage: scenario.tcl FLOWS RATE_BPS SHORTEST_RTT_NS LONGEST_RTT_NS QUEUE_BYTES\
        DURATION_S ACCESS_BPS|0 LIMIT_S"
    exit 2
}
lassign $argv flows rate shortest longest queue duration access limit

set segment 1448
set packet 1500
set start 0.1
set check 0.05

# Processor time of this process in seconds (proc(5): fields 14 and 15, a hundredth each).
proc processor_time {} {
    set file [open /proc/self/stat]
    set fields [split [lindex [split [read $file] ")"] 1]]
    close $file
    expr {([lindex $fields 12] + [lindex $fields 13]) / 100.0}
}

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns rtproto Manual
Agent/TCP set packetSize_ $segment
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set timestamps_ true
Agent/TCP set window_ 46000
Agent/TCP set windowInit_ 10
Agent/TCPSink/Sack1/DelAck set interval_ 40ms
Agent/TCPSink set ts_echo_rfc1323_ true
DelayModel set debug_ false

# Peak memory of this process (proc(5)).
proc peak_bytes {} {
    set file [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $file] match kib
    close $file
    expr {$kib * 1024}
}

# A packet of the other side of a node takes its default route.
proc default_route {from to} {
    [$from get-module Manual] add-route-to-adj-node -default $to
}

proc route {from to} {
    [$from get-module Manual] add-route-to-adj-node $to
}

proc wire {delay target} {
    set value [new RandomVariable/Constant]
    $value set val_ $delay
    set wire [new DelayModel]
    $wire ranvar $value
    $wire target $target
    return $wire
}

set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 $rate [expr {$shortest / 2e9}] DropTail
$ns queue-limit $r1 $r2 [expr {$queue / $packet}]
$ns queue-limit $r2 $r1 [expr {$queue / $packet}]
default_route $r1 $r2
default_route $r2 $r1

set random [new RNG]
$random seed 1
for {set i 0} {$i < $flows} {incr i} {
    set steps [expr {max($flows - 1, 1)}]
    set extra [expr {($longest - $shortest) * $i / $steps / 2e9}]
    set tcp [new Agent/TCP/Linux]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    if {$access > 0} {
        set from [$ns node]
        set to [$ns node]
        $ns duplex-link $from $r1 $access 0 DropTail
        $ns duplex-link $r2 $to $access $extra DropTail
        foreach {a b} [list $from $r1 $r1 $from $r2 $to $to $r2] {
            $ns queue-limit $a $b 1000000
        }
        default_route $from $r1
        default_route $to $r2
        route $r1 $from
        route $r2 $to
        $ns attach-agent $from $tcp
        $ns attach-agent $to $sink
    } else {
        $ns attach-agent $r1 $tcp
        $ns attach-agent $r2 $sink
        if {$extra > 0} {
            [$r2 demux] install [$sink set agent_port_] [wire $extra $sink]
            $sink target [wire $extra [$r2 entry]]
        }
    }
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    set at [expr {$flows > 1 ? [$random uniform 0 $start] : 0}]
    $ns at 0 "$tcp select_ca cubic"
    $ns at $at "$ftp start"
    lappend senders $tcp
}

proc stop_at {limit} {
    global ns check
    if {[processor_time] > $limit} {
        finish
    }
    $ns after $check "stop_at $limit"
}

# ns-2 counts no packets of a link by itself: those that were acknowledged have passed it.
proc finish {} {
    global ns senders segment begin
    set cpu [expr {[processor_time] - $begin}]
    set packets 0
    foreach tcp $senders {
        incr packets [expr {max([$tcp set ack_], 0)}]
    }
    set now [$ns now]
    # TCP/Linux prints, too: this line begins anew.
    puts [format {
{"cpu_s": %.2f, "packets": %d, "goodput_bps": %.0f, "simulated_s": %.6f, "peak_bytes": %d}} \
        $cpu $packets [expr {$packets * 8.0 * $segment / $now}] $now [peak_bytes]]
    exit 0
}

set begin [processor_time]
$ns at $duration finish
$ns after $check "stop_at [expr {$begin + $limit}]"
$ns run
