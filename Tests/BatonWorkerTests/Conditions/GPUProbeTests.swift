import BatonHost
import BatonModel
import BatonProcess
import ContractRows
import HostFixtures
import Testing

private let query = "nvidia-smi --query-gpu=index,uuid,name,memory.total --format=csv,noheader,nounits"
private let driver = "proc/driver/nvidia/gpus"

private func nvidia(_ index: Int, _ name: String = "NVIDIA H100 80GB HBM3", _ mebibytes: String = "81559") -> String {
  "\(index), GPU-0000000\(index), \(name), \(mebibytes)\n"
}

private func card(_ index: Int) -> GPU {
  GPU(id: "GPU-0000000\(index)", name: "NVIDIA H100 80GB HBM3", memoryBytes: 81_559 << 20)
}

extension GPU {
  fileprivate var absent: GPU { GPU(id: id, name: name, memoryBytes: memoryBytes, isPresent: false) }
}

/// The files of a graphics device.
/// - Parameter render: whether the device has a render node.
private func device(_ node: Int, _ files: [String: String], rendersAs render: Bool = true) -> MachineFolder.Files {
  var all: MachineFolder.Files = ["sys/class/drm/card\(node)/dev": "226:\(node)", "sys/class/drm/version": "drm 1.1.0"]
  for (file, contents) in files {
    all["sys/class/drm/card\(node)/device/\(file)"] = contents
    if render { all["sys/class/drm/renderD\(128 + node)/device/\(file)"] = contents }
  }
  return all
}

private let intel = device(0, ["vendor": "0x8086", "device": "0x46a6", "uevent": "DRIVER=i915\nPCI_CLASS=30000"])
private let iris = GPU(id: "/dev/dri/renderD128", name: "Intel 0x46a6 (i915)", memoryBytes: 0)

@Suite("GPUs by NVIDIA's program and the kernel's render nodes")
struct GPUProbeTests {
  private let start = Instant(nanoseconds: 0)

  private struct Host: Sendable, CustomTestStringConvertible {
    var name: String
    var files: MachineFolder.Files = [:]
    var answer = SystemCommand.Answer.missing
    var gpus: [GPU]?
    var source = "drm"
    var testDescription: String { name }
  }

  private static let bare: [Host] = [
    Host(name: "nothing", gpus: []),
    Host(name: "Intel in the processor", files: intel, gpus: [iris]),
    Host(
      name: "AMD in the processor",
      files: device(
        0, ["vendor": "0x1002", "device": "0x1681", "mem_info_vram_total": "536870912", "uevent": "DRIVER=amdgpu"]),
      gpus: [GPU(id: "/dev/dri/renderD128", name: "AMD 0x1681 (amdgpu)", memoryBytes: 0)]),
    Host(
      name: "AMD's card",
      files: device(
        1,
        [
          "vendor": "0x1002", "device": "0x744c", "mem_info_vram_total": "25753026560",
          "mem_info_vram_vendor": "samsung",
          "uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0",
        ]), gpus: [GPU(id: "/dev/dri/renderD129", name: "AMD 0x744c (amdgpu)", memoryBytes: 25_753_026_560)]),
    Host(
      name: "AMD's old card of 2 GiB",
      files: device(
        0,
        [
          "vendor": "0x1002", "device": "0x699f", "mem_info_vram_total": "2147483648", "mem_info_vram_vendor": "hynix",
          "uevent": "DRIVER=amdgpu", "product_name": "Radeon RX 550",
        ]), gpus: [GPU(id: "/dev/dri/renderD128", name: "AMD Radeon RX 550 (amdgpu)", memoryBytes: 2_147_483_648)]),
    Host(
      name: "Raspberry Pi",
      files: device(0, ["uevent": "DRIVER=vc4-drm"], rendersAs: false)
        .merging(device(1, ["uevent": "DRIVER=v3d\nOF_NAME=v3d"])) { $1 },
      gpus: [GPU(id: "/dev/dri/renderD129", name: "(v3d)", memoryBytes: 0)]),
    Host(
      name: "server's screen without a render node", files: device(0, ["vendor": "0x1a03"], rendersAs: false), gpus: []),
    Host(name: "ASPEED", files: device(0, ["vendor": "0x1a03", "uevent": "DRIVER=ast"]), gpus: []),
    Host(name: "Matrox", files: device(0, ["vendor": "0x102b", "uevent": "DRIVER=mgag200"]), gpus: []),
    Host(name: "virtual machine", files: device(0, ["vendor": "0x1af4", "uevent": "DRIVER=virtio-pci"]), gpus: []),
    Host(name: "virtio without PCI", files: device(0, ["uevent": "DRIVER=virtio_gpu"]), gpus: []),
    Host(name: "frame buffer of the firmware", files: device(0, ["uevent": "DRIVER=simple-framebuffer"]), gpus: []),
    Host(name: "vgem", files: device(0, ["uevent": "MODALIAS=platform:vgem"]), gpus: []),
    Host(name: "nonsense", files: device(0, ["vendor": MachineFolder.unreadable, "uevent": "?"]), gpus: []),
    Host(
      name: "NVIDIA without its driver", files: device(0, ["vendor": "0x10de", "uevent": "DRIVER=nouveau"]), gpus: []),
  ]

  private static let cards: [Host] = [
    Host(
      name: "two, listed backwards", answer: .output(nvidia(1) + nvidia(0)), gpus: [card(0), card(1)],
      source: "nvidia-smi"),
    Host(
      name: "NVIDIA beside Intel, not twice",
      files: intel.merging(device(1, ["vendor": "0x10de", "uevent": "DRIVER=nvidia"])) { $1 },
      answer: .output(nvidia(0)),
      gpus: [card(0), iris], source: "nvidia-smi, drm"),
    Host(
      name: "memory not told",
      answer: .output(nvidia(0, "NVIDIA GB10", "[N/A]") + nvidia(1, "T4", "[Insufficient Permissions]")),
      gpus: [
        GPU(id: "GPU-00000000", name: "NVIDIA GB10", memoryBytes: 0),
        GPU(id: "GPU-00000001", name: "T4", memoryBytes: 0),
      ], source: "nvidia-smi"),
    Host(
      name: "identity not told", answer: .output("0, [N/A], Orin (nvgpu), [N/A]\r\n"),
      gpus: [GPU(id: "nvidia:0", name: "Orin (nvgpu)", memoryBytes: 0)], source: "nvidia-smi"),
    Host(
      name: "comma in a name", answer: .output(nvidia(0, "A, B", "10")),
      gpus: [GPU(id: "GPU-00000000", name: "A, B", memoryBytes: 10 << 20)], source: "nvidia-smi"),
    Host(
      name: "no devices", files: intel, answer: .output("No devices were found\n"), gpus: [iris],
      source: "nvidia-smi, drm"),
    Host(name: "no output", answer: .output("\n"), gpus: [], source: "nvidia-smi"),
    Host(
      name: "one of two is lost",
      answer: .output("Unable to determine the device handle for GPU0000:0A:00.0: GPU is lost.\n" + nvidia(0)),
      gpus: [card(0)], source: "nvidia-smi"),
    Host(
      name: "driver of another version", files: ["\(driver)/0000:01:00.0/information": "Model: H100"],
      answer: .failed("Failed to initialize NVML: Driver/library version mismatch"), gpus: nil, source: "nvidia-smi"),
    Host(
      name: "all are lost", files: ["\(driver)/0000:01:00.0/information": "Model: H100"],
      answer: .output("Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.\n"), gpus: nil,
      source: "nvidia-smi"),
    Host(
      name: "program without a driver", files: intel, answer: .failed("couldn't communicate with the NVIDIA driver"),
      gpus: [iris], source: "nvidia-smi, drm"),
    Host(
      name: "a driver and no program", files: ["\(driver)/0000:01:00.0/information": "Model: H100"], gpus: nil,
      source: "nvidia-smi"),
    Host(
      name: "the driver's version and no program", files: ["proc/driver/nvidia/version": "NVRM version: 550"],
      gpus: nil,
      source: "nvidia-smi"),
    Host(
      name: "devices in a container, and no program",
      files: intel.merging(["dev/nvidia0": "", "dev/nvidiactl": ""]) { $1 },
      gpus: nil, source: "nvidia-smi, drm"),
    Host(
      name: "devices, and a program that fails", files: ["dev/nvidia0": ""], answer: .failed("couldn't communicate"),
      gpus: nil, source: "nvidia-smi"),
    Host(
      name: "driver without a device", files: [driver: MachineFolder.folder], answer: .failed("exited(6)"), gpus: [],
      source: "nvidia-smi"),
  ]

  @Test("a host has the GPUs that can compute", .contract(20.1), arguments: bare + cards)
  private func host(_ host: Host) async throws {
    let reading = try await MachineFolder.with(host.files) { folder in
      var probe = GPUProbe(root: folder.root, command: ScriptedCommand([query: host.answer]).command)
      return await probe.read(at: start)
    }
    #expect(reading.value == host.gpus)
    #expect(reading.source == host.source)
    #expect(!reading.raw.isEmpty)
  }

  @Test(
    "the program is found on the worker's PATH and in the usual places",
    arguments: ["/home/ann/bin", "/run/current-system/sw/bin", "/usr/lib/wsl/lib", "/opt/bin"])
  func place(folder place: String) async throws {
    let files: MachineFolder.Files = ["dev/nvidia0": "", "\(place.dropFirst())/nvidia-smi": ""]
    try await MachineFolder.with(files) { folder in
      let script = ScriptedCommand([query: .missing, "\(place)/\(query)": .output(nvidia(0))])
      var probe = GPUProbe(
        root: folder.root, command: script.command, searchPath: ["relative", "/home/ann/bin", "/nowhere"])
      #expect(await probe.read(at: start).value == [card(0)])
      #expect(script.takeAsked().count == 2)
    }
  }

  @Test("a driver whose program is not found is named with what to do, and asked again")
  func missing() async throws {
    try await MachineFolder.with(["\(driver)/a/x": ""]) { folder in
      let script = ScriptedCommand([query: .missing])
      var probe = GPUProbe(root: folder.root, command: script.command, searchPath: [])
      for second in [0, 10, 60] {
        let reading = await probe.read(at: start + .seconds(second))
        #expect(reading.value == nil && reading.raw.contains("nvidia-smi is not found: install it"))
      }
      script[query] = .output(nvidia(0))
      #expect(await probe.read(at: start + .seconds(70)).value == [card(0)])
    }
  }

  @Test("a GPU that vanishes keeps its place, and takes it again; a new one follows at the end")
  func places() async throws {
    try await MachineFolder.with(intel.merging(["\(driver)/a/x": "", "\(driver)/b/x": ""]) { $1 }) { folder in
      let script = ScriptedCommand([query: .output(nvidia(0) + nvidia(1))])
      var probe = GPUProbe(root: folder.root, command: script.command)
      #expect(await probe.read(at: start).value == [card(0), card(1), iris])
      folder.remove("\(driver)/a")
      // The driver now gives the remaining GPU the index 0. The probe recognises the GPU by its id.
      script[query] = .output("0, GPU-00000001, NVIDIA H100 80GB HBM3, 81559\n")
      let reading = await probe.read(at: start + .seconds(1))
      #expect(reading.value == [card(0).absent, card(1), iris])
      #expect(reading.raw.contains("absent: NVIDIA H100 80GB HBM3"))
      folder.remove("sys/class/drm/renderD128")
      #expect(await probe.read(at: start + .seconds(2)).value == [card(0).absent, card(1), iris.absent])
      try folder.write("", to: "\(driver)/a/x")
      try folder.write("", to: "\(driver)/c/x")
      script[query] = .output(nvidia(0) + nvidia(1) + nvidia(2))
      #expect(await probe.read(at: start + .seconds(3)).value == [card(0), card(1), iris.absent, card(2)])
    }
  }

  @Test("the program runs at the start, when the driver's list changes, and every minute")
  func economy() async throws {
    try await MachineFolder.with(["\(driver)/a/x": ""]) { folder in
      let script = ScriptedCommand([query: .output(nvidia(0))])
      var probe = GPUProbe(root: folder.root, command: script.command)
      var runs: [Int] = []
      for second in [0, 1, 30, 59, 60, 61, 119, 120] {
        _ = await probe.read(at: start + .seconds(second))
        runs.append(script.takeAsked().count)
      }
      #expect(runs == [1, 0, 0, 0, 1, 0, 0, 1])
      try folder.write("", to: "\(driver)/b/x")
      _ = await probe.read(at: start + .seconds(121))
      #expect(script.takeAsked().count == 1)
    }
  }

  @Test("a program that fails is asked again every ten seconds; the list holds for thirty, then it is unknown")
  func failure() async throws {
    try await MachineFolder.with(["\(driver)/a/x": ""]) { folder in
      let script = ScriptedCommand([query: .output(nvidia(0))])
      var probe = GPUProbe(root: folder.root, command: script.command)
      #expect(await probe.read(at: start).value == [card(0)])
      script[query] = .failed("nvidia-smi did not end within 10.0 seconds")
      _ = script.takeAsked()
      var known: [Bool] = []
      for second in [60, 69, 70, 80, 89, 90, 100] {
        known.append(await probe.read(at: start + .seconds(second)).value == [card(0)])
      }
      #expect(known == [true, true, true, true, true, false, false])
      #expect(script.takeAsked().count == 5)
      let reading = await probe.read(at: start + .seconds(101))
      #expect(reading == Reading(nil, source: "nvidia-smi", raw: "nvidia-smi did not end within 10.0 seconds"))
      script[query] = .output(nvidia(0))
      #expect(await probe.read(at: start + .seconds(110)).value == [card(0)])
    }
  }

  @Test("a program that is taken away is a failure, not a loss; a driver that lists nothing is a loss")
  func gone() async throws {
    try await MachineFolder.with(["\(driver)/a/x": ""]) { folder in
      let script = ScriptedCommand([query: .output(nvidia(0))])
      var probe = GPUProbe(root: folder.root, command: script.command)
      _ = await probe.read(at: start)
      script[query] = .missing
      #expect(await probe.read(at: start + .seconds(60)).value == [card(0)])
      #expect(await probe.read(at: start + .seconds(90)).value == nil)
      folder.remove("\(driver)/a")
      #expect(await probe.read(at: start + .seconds(91)).value == [card(0).absent])
    }
  }
}
