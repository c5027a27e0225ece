import BatonModel

/// What a command finds in the file that `BATON_INPUTS_FILE` names: a list in JSON of how the requests have ended that
/// its request waited for. Each result has the bytes that its job wrote.
enum InputNotice {
  static func json(_ inputs: [RequestInput]) -> [UInt8] {
    var json = Array("[".utf8)
    for (index, input) in inputs.enumerated() {
      // An identifier and the name of a state need no escapes.
      let head = """
        {"identifier":"\(input.identifier)","request":\(input.number),"state":"\(input.state.rawValue)","result":
        """
      json += (index > 0 ? ",\n" : "\n").utf8
      json += head.utf8
      json += input.result?.json ?? Array("null".utf8)
      json += ",\"shards\":[".utf8
      for (index, shard) in input.shards.enumerated() {
        json += "\(index > 0 ? "," : ""){\"shard\":\(shard.shard),\"result\":".utf8
        json += shard.result.json
        json.append(UInt8(ascii: "}"))
      }
      json += "],\"cut\":\(input.isCut)}".utf8
    }
    return json + Array("\n]\n".utf8)
  }
}
