import BatonModel

/// The output of macOS commands, as recorded in public reports, with shortened identities. Each one has the value that
/// it means.
enum MacOutputs {
  static let batteries: [(output: String, power: PowerSource?, battery: Int?)] = [
    // MacBook, Apple Silicon.
    (
      "Now drawing from 'AC Power'\n -InternalBattery-0 (id=22806627)\t83%; charging; 1:10 remaining present: true\n",
      .external, 83
    ),
    (
      "Now drawing from 'AC Power'\n -InternalBattery-0 (id=22544483)\t80%; AC attached; not charging present: true\n",
      .external, 80
    ),
    (
      "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=22806627)\t78%; discharging; 5:05 remaining present: true\n",
      .battery, 78
    ),
    // MacBook, Intel.
    (
      "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=4653155)\t9%; discharging; (no estimate) present: true\n",
      .battery, 9
    ),
    (
      "Now drawing from 'AC Power'\n -InternalBattery-0 (id=4653155)\t100%; charged; 0:00 remaining present: true\n",
      .external, 100
    ), ("Now drawing from 'AC Power'\n -InternalBattery-0 (id=4653155)\t0%; present: false\n", .external, nil),
    // A Mac mini, and a Mac on a UPS.
    ("Now drawing from 'AC Power'\n", .external, nil),
    ("Now drawing from 'UPS Power'\n -CP1500 (id=91)\t95%; discharging; 0:32 remaining present: true\n", .battery, 95),
    ("No batteries available\n", nil, nil), ("", nil, nil),
  ]

  static let settings: [(output: String, isLow: Bool?)] = [
    (
      """
      System-wide power settings:
      Currently in use:
       standby              1
       Sleep On Power Button 1
       sleep                0 (sleep prevented by coreaudiod, powerd, sharingd)
       displaysleep         10
       lowpowermode         1
       womp                 1
      """, true
    ), ("Currently in use:\n lowpowermode         0\n", false), ("Currently in use:\n powermode            2\n", false),
    ("Currently in use:\n powermode            1\n", true),
    // Intel before macOS 12.
    ("Currently in use:\n standbydelaylow      10800\n sleep                1\n", nil),
  ]

  private static let notes = """
    Note: No thermal warning level has been recorded
    Note: No performance warning level has been recorded
    """

  static let warnings: [(output: String, state: ThermalState?)] = [
    // Apple Silicon.
    (notes + "\nNote: No CPU power status has been recorded\n", .nominal),
    // Intel.
    (limits(100, 100), .nominal), (limits(100, 92), .fair), (limits(70, 92), .serious), (limits(100, 35), .serious),
    ("Thermal Warning Level = 5\n", .serious), ("Thermal Warning Level = 10\n", .critical),
    ("Thermal Warning Level = 0\n", .nominal), ("", nil), ("pmset: command not understood\n", nil),
  ]

  private static func limits(_ scheduler: Int, _ speed: Int) -> String {
    """
    \(notes)
    2020-11-24 13:10:40 +0100 CPU Power notify
    \tCPU_Scheduler_Limit \t= \(scheduler)
    \tCPU_Available_CPUs \t= 8
    \tCPU_Speed_Limit \t= \(speed)
    """
  }

  static let registries: [(output: String, idle: Duration?)] = [
    (
      """
      +-o IOHIDSystem  <class IOHIDSystem, id 0x100000366, registered, matched, active, busy 0 (0 ms), retain 29>
          {
            "IOClass" = "IOHIDSystem"
            "HIDIdleTime" = 62518583291
            "HIDParameters" = {"HIDClickTime"=500000000}
          }
      """, .nanoseconds(62_518_583_291)
    ), ("  \"HIDIdleTime\" = 900\n  \"HIDIdleTime\" = 30\n", .nanoseconds(30)), ("  \"HIDIdleTime\" = soon\n", nil),
    ("  \"HIDIdleTime\" = 18446744073709551615\n", nil), ("", nil),
  ]

  static let information: [(output: String, network: NetworkState?, raw: String)] = [
    (
      """
      Network information

      IPv4 network interface information
           en0 : flags      : 0x7 (IPv4,IPv6,DNS)
                 address    : 192.168.0.106
                 reach      : 0x00000002 (Reachable)

         REACH : flags 0x00000002 (Reachable)

      Network interfaces: en0
      """, .unmetered, "reachable by en0"
    ),
    (
      """
      Network information

      IPv4 network interface information
         No IPv4 states found

         REACH : flags 0x00000000 (Not Reachable)
      """, .unavailable, "not reachable"
    ), ("scutil: illegal option\n", nil, "scutil: illegal option"), ("", nil, ""),
  ]

  static let profiles: [(output: String, gpus: [GPU]?)] = [
    (
      """
      {"SPDisplaysDataType": [{"_name": "Apple M3 Pro", "spdisplays_mtlgpufamilysupport": "spdisplays_metal3",
        "spdisplays_vendor": "sppci_vendor_Apple", "sppci_bus": "spdisplays_builtin", "sppci_cores": "18",
        "sppci_device_type": "spdisplays_gpu", "sppci_model": "Apple M3 Pro"}]}
      """, [GPU(id: "Apple M3 Pro", name: "Apple M3 Pro", memoryBytes: 0)]
    ),
    (
      """
      {"SPDisplaysDataType": [
        {"_name": "kHW_IntelUHDGraphics630Item", "spdisplays_vram_shared": "1536 MB",
         "sppci_model": "Intel UHD Graphics 630"},
        {"_name": "kHW_AMDRadeonPro5500MItem", "spdisplays_vram": "4 GB", "sppci_model": "AMD Radeon Pro 5500M"}]}
      """,
      [
        GPU(id: "kHW_IntelUHDGraphics630Item", name: "Intel UHD Graphics 630", memoryBytes: 0),
        GPU(id: "kHW_AMDRadeonPro5500MItem", name: "AMD Radeon Pro 5500M", memoryBytes: 4 << 30),
      ]
    ),
    (
      #"{"SPDisplaysDataType": [{"_name": "X", "spdisplays_vram": "many"}]}"#, [GPU(id: "X", name: "X", memoryBytes: 0)]
    ),
    (#"{"SPDisplaysDataType": []}"#, []), ("{}", nil), ("", nil),
  ]
}
