# The mixed traffic of papers/red-tail/mixed.toml under drop-tail, in ns-2.35: what each kind loses.
#   ns tail-mixed.tcl SEED [AGENT [SINK [WINDOW]]]     such as: 1 Agent/TCP/Reno Agent/TCPSink/DelAck
# One-way TCP: no handshake. A file begins half a round trip and 60 ms after its request. Web's round trips take 40 values.
proc arg {i d} { global argv; if {[llength $argv]>$i} {return [lindex $argv $i]}; return $d }
set seed [arg 0 1]; set kind [arg 1 "Agent/TCP"]; set sinkk [arg 2 "Agent/TCPSink"]; set win [arg 3 64]; set nweb 800
ns-random $seed
set ns [new Simulator]
Agent/TCP set packetSize_ 960
Agent/TCP set window_ $win
Agent/TCP set windowInit_ 1
Agent/TCP set tcpTick_ 0.1
Agent/TCP set minrto_ 1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set singledup_ 0
Agent/TCP set maxburst_ 0
set a [$ns node]; set b [$ns node]
$ns simplex-link $a $b 3Mb 2ms DropTail
$ns simplex-link $b $a 3Mb 2ms DropTail
$ns queue-limit $a $b 160
$ns queue-limit $b $a 10000
set rng [new RNG]; $rng seed $seed
set len [new RandomVariable/Pareto]; $len set avg_ 9.967; $len set shape_ 1.3; $len use-rng $rng
set think [new RandomVariable/Exponential]; $think set avg_ 50; $think use-rng $rng
set un [new RandomVariable/Uniform]; $un set min_ 0; $un set max_ 1; $un use-rng $rng
# FTP
for {set i 0} {$i<10} {incr i} {
  set n [$ns node]; set m [$ns node]
  $ns duplex-link $n $a 100Mb 28ms DropTail; $ns queue-limit $n $a 10000; $ns queue-limit $a $n 10000
  $ns duplex-link $b $m 100Mb 2ms DropTail; $ns queue-limit $b $m 10000; $ns queue-limit $m $b 10000
  set t [new $kind]; set s [new $sinkk]; $t set fid_ 0
  $ns attach-agent $n $t; $ns attach-agent $m $s; $ns connect $t $s
  set f [new Application/FTP]; $f attach-agent $t; $ns at [expr 0.1*[$un value]] "$f start"
}
# CBR
set n [$ns node]; set m [$ns node]
$ns duplex-link $n $a 100Mb 28ms DropTail; $ns duplex-link $b $m 100Mb 2ms DropTail
set u [new Agent/UDP]; set z [new Agent/Null]; $u set fid_ 2; $u set packetSize_ 1000
$ns attach-agent $n $u; $ns attach-agent $m $z; $ns connect $u $z
set c [new Application/Traffic/CBR]; $c attach-agent $u; $c set packetSize_ 1000; $c set interval_ 0.05
$ns at 100.02 "$c start"
# Web: an agent for each file.
Agent/TCP instproc done {} { global owner ns think
  set i $owner($self); $ns at [expr [$ns now]+[$think value]] "file $i" }
proc file {i} { global ns kind sinkk wn wm owner len rtt
  set t [new $kind]; set s [new $sinkk]
  $t set fid_ 1; $ns attach-agent $wn($i) $t; $ns attach-agent $wm($i) $s; $ns connect $t $s
  set owner($t) $i
  set k [expr int(ceil([$len value]/1.0))]; if {$k<1} {set k 1}
  $ns at [expr [$ns now]+$rtt($i)/2.0+0.06] "$t advance $k"
}
for {set j 0} {$j<40} {incr j} {
  set wa($j) [$ns node]; set wb($j) [$ns node]
  set gr($j) [expr 0.016+0.224*($j+0.5)/40]
  set d [expr ($gr($j)-0.004)/4.0]
  $ns duplex-link $wa($j) $a 100Mb ${d}s DropTail; $ns queue-limit $wa($j) $a 10000; $ns queue-limit $a $wa($j) 10000
  $ns duplex-link $b $wb($j) 100Mb ${d}s DropTail; $ns queue-limit $wb($j) $b 10000; $ns queue-limit $b $wb($j) 10000
}
for {set i 0} {$i<$nweb} {incr i} {
  set j [expr $i%40]; set wn($i) $wa($j); set wm($i) $wb($j); set rtt($i) $gr($j)
  $ns at [expr 100+50*[$un value]] "file $i"
}
set fm [$ns makeflowmon Fid]; $ns attach-fmon [$ns link $a $b] $fm
proc snap {} { global fm p0 d0 b0
  foreach f [$fm flows] { set id [$f set flowid_]; set p0($id) [$f set parrivals_]; set d0($id) [$f set pdrops_]; set b0($id) [$f set bdepartures_] }
}
$ns at 150 "snap"
$ns at 500 "fin"
proc fin {} { global fm p0 d0 b0
  foreach f [$fm flows] { set id [$f set flowid_]; if {![info exists p0($id)]} {set p0($id) 0; set d0($id) 0; set b0($id) 0}
   set r($id) [format "%.2f%% %.1fKB/s" [expr 100.0*([$f set pdrops_]-$d0($id))/([$f set parrivals_]-$p0($id))] [expr ([$f set bdepartures_]-$b0($id))/350000.0]] }
  puts "ftp $r(0), web $r(1), cbr $r(2)"; exit 0 }
$ns run
