import BatonModel
import BatonProcess

/// Lists the GPUs that have a render node. A GPU without a render node cannot compute: displays of servers (ASPEED,
/// Matrox), frame buffers of firmware, and Raspberry Pi's `vc4`. NVIDIA GPUs are left to `nvidia-smi`: without NVIDIA's
/// driver they cannot compute, and with it they would be counted twice.
struct DRMList {
  private static let folder = "sys/class/drm"
  private var nodes: [String] = []
  private var readAt: Instant?
  private var listed: [GPU] = []

  /// Returns the GPUs. The files of the cards are read again when the names in the folder change, and once per
  /// `interval`.
  mutating func read(_ root: SystemRoot, at now: Instant, every interval: Duration) -> [GPU] {
    let present = root.names(in: Self.folder).filter { $0.hasPrefix("renderD") }
    if let readAt, present == nodes, now - readAt < interval { return listed }
    (nodes, readAt) = (present, now)
    listed = present.compactMap { DRMCard(in: "\(Self.folder)/\($0)/device", of: root)?.gpu(node: $0) }
    return listed
  }
}

/// A device with a render node, read from its files in sysfs (Linux, Documentation/gpu/amdgpu, sysfs-bus-pci).
struct DRMCard {
  private static let nvidia = "0x10de"
  /// The PCI vendors of display adapters in servers and virtual machines: ASPEED, Matrox, Cirrus, Bochs, QEMU, virtio,
  /// VMware and VirtualBox.
  private static let screens: Set = [
    "0x1a03", "0x102b", "0x1013", "0x1234", "0x1b36", "0x1af4", "0x15ad", "0x80ee",
  ]
  /// Drivers of devices that have a render node but no GPU.
  private static let pretended: Set = ["vgem", "vkms", "simple-framebuffer", "simpledrm", "virtio_gpu", "virtio-mmio"]
  private static let makers = ["0x1002": "AMD", "0x8086": "Intel"]
  /// The largest part of the host's memory that firmware sets aside for a GPU within an AMD processor. A larger total
  /// must be memory of the GPU's own.
  private static let sharedLimit: Int64 = 4 << 30

  private let title: String
  private let memoryBytes: Int64

  init?(in folder: String, of root: SystemRoot) {
    let vendor = root.string("\(folder)/vendor") ?? ""
    guard vendor != Self.nvidia, !Self.screens.contains(vendor) else { return nil }
    let lines = (root.string("\(folder)/uevent") ?? "").split(whereSeparator: \.isNewline)
    let driver = lines.first { $0.hasPrefix("DRIVER=") }?.dropFirst(7).trimmed ?? ""
    // A device that has neither a vendor nor a driver exists in software only.
    guard !Self.pretended.contains(String(driver)), !vendor.isEmpty || !driver.isEmpty else { return nil }
    let maker = Self.makers[vendor] ?? vendor
    let product = root.string("\(folder)/product_name") ?? ""
    let model = product.isEmpty ? root.string("\(folder)/device") ?? "" : product
    title = [maker, model, driver.isEmpty ? "" : "(\(driver))"].filter { !$0.isEmpty }.joined(separator: " ")
    memoryBytes = Self.memory(in: folder, of: root)
  }

  /// The GPU's own memory in bytes, or 0 if the GPU shares the host's memory or its driver does not tell. Only AMD's
  /// driver tells the size. For a separate graphics card, the driver also names the vendor of the memory.
  private static func memory(in folder: String, of root: SystemRoot) -> Int64 {
    guard let total = root.number("\(folder)/mem_info_vram_total").map(Int64.init), total > 0 else { return 0 }
    let maker = root.string("\(folder)/mem_info_vram_vendor") ?? "unknown"
    return maker != "unknown" || total > sharedLimit ? total : 0
  }

  func gpu(node: String) -> GPU { GPU(id: "/dev/dri/\(node)", name: title, memoryBytes: memoryBytes) }
}
