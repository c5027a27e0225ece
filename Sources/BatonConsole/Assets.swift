import BatonAPI
import BatonIdentity
import CBatonConsole
import Crypto
import HTTPTypes

/// A file that pages refer to. Its address has a hash of its bytes, so that browsers may keep it for ever.
enum Asset: String, CaseIterable {
  case style = "console.css"
  case script = "console.js"
  case icon = "icon.svg"

  var bytes: [UInt8] {
    let (start, count) =
      switch self {
      case .style: (baton_console_style(), baton_console_style_size())
      case .script: (baton_console_script(), baton_console_script_size())
      case .icon: (baton_console_icon(), baton_console_icon_size())
      }
    return Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }

  private var type: String {
    switch self {
    case .style: "text/css; charset=utf-8"
    case .script: "text/javascript; charset=utf-8"
    case .icon: "image/svg+xml"
    }
  }

  private static let hashes = Dictionary(
    uniqueKeysWithValues: allCases.map { asset in
      (asset, Hexadecimal.text(Array(SHA256.hash(data: asset.bytes).prefix(8))))
    })

  private var hash: String { Self.hashes[self] ?? "" }

  var path: Link { Link("assets", hash, rawValue) }

  fileprivate var route: Route {
    Route(.get, path.text, .anyone) { _ in
      Answer(
        body: .bytes(bytes, type: type), headers: [.cacheControl: "public, max-age=31536000, immutable"])
    }
  }
}

extension Console {
  var assetRoutes: [Route] { Asset.allCases.map(\.route) }
}
