import BatonModel

/// GPUs that have a render node, without which nobody can compute with them: displays of servers (ASPEED, Matrox), frame
/// buffers of firmware and Raspberry Pi's `vc4` have none. NVIDIA's are left to `nvidia-smi`: without its driver they
/// cannot be computed with, and with it they would count twice.
struct DRMList {
  private static let folder = "sys/class/drm"
  private var nodes: [String] = []
  private var readAt: Instant?
  private var listed: [GPU] = []

  /// Reads the cards when the folder's names change, and every `interval`.
  mutating func read(_ root: SystemRoot, at now: Instant, every interval: Duration) -> [GPU] {
    let present = root.names(in: Self.folder).filter { $0.hasPrefix("renderD") }
    if let readAt, present == nodes, now - readAt < interval { return listed }
    (nodes, readAt) = (present, now)
    listed = present.compactMap { DRMCard(in: "\(Self.folder)/\($0)/device", of: root)?.gpu(node: $0) }
    return listed
  }
}

/// One device with a render node, by its files (Linux, Documentation/gpu/amdgpu, sysfs-bus-pci).
struct DRMCard {
  private static let nvidia = "0x10de"
  /// Screens of servers and of virtual machines: ASPEED, Matrox, Cirrus, Bochs, QEMU, virtio, VMware, VirtualBox.
  private static let screens: Set = [
    "0x1a03", "0x102b", "0x1013", "0x1234", "0x1b36", "0x1af4", "0x15ad", "0x80ee",
  ]
  private static let pretended: Set = ["vgem", "vkms", "simple-framebuffer", "simpledrm", "virtio_gpu", "virtio-mmio"]
  private static let makers = ["0x1002": "AMD", "0x8086": "Intel"]
  /// What firmware takes from the host's memory for a GPU of AMD's processors is at most this.
  private static let sharedLimit: Int64 = 4 << 30

  private let title: String
  private let memoryBytes: Int64

  init?(in folder: String, of root: SystemRoot) {
    let vendor = root.string("\(folder)/vendor") ?? ""
    guard vendor != Self.nvidia, !Self.screens.contains(vendor) else { return nil }
    let lines = (root.string("\(folder)/uevent") ?? "").split(whereSeparator: \.isNewline)
    let driver = lines.first { $0.hasPrefix("DRIVER=") }?.dropFirst(7).trimmed ?? ""
    // A device without a maker and without a driver is made of software.
    guard !Self.pretended.contains(String(driver)), !vendor.isEmpty || !driver.isEmpty else { return nil }
    let maker = Self.makers[vendor] ?? vendor
    let product = root.string("\(folder)/product_name") ?? ""
    let model = product.isEmpty ? root.string("\(folder)/device") ?? "" : product
    title = [maker, model, driver.isEmpty ? "" : "(\(driver))"].filter { !$0.isEmpty }.joined(separator: " ")
    memoryBytes = Self.memory(in: folder, of: root)
  }

  /// 0 where it is shared with the host. Only AMD's driver says how much there is; a card of its own names the maker of
  /// its memory too.
  private static func memory(in folder: String, of root: SystemRoot) -> Int64 {
    guard let total = root.number("\(folder)/mem_info_vram_total").map(Int64.init), total > 0 else { return 0 }
    let maker = root.string("\(folder)/mem_info_vram_vendor") ?? "unknown"
    return maker != "unknown" || total > sharedLimit ? total : 0
  }

  func gpu(node: String) -> GPU { GPU(id: "/dev/dri/\(node)", name: title, memoryBytes: memoryBytes) }
}
