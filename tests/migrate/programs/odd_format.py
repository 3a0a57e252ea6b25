#!/usr/bin/env python3
import sys ; import numpy as np        # numpy
from tensorrtserver.api import ( InferContext ,   # the client
        ProtocolType  ,
	)
url=sys.argv [ 1 ];proto=ProtocolType . from_str ( sys.argv[2] )

MODEL   = 'two_inputs_variable'   ;   VERSION = -1
if 1:
	ctx = InferContext( url , proto , MODEL ,
	   VERSION , False )   # verbose off!
	def go (
	        a, b
	       ) :
		'''sends two, gets two'''
		r=ctx.run (  { 'INPUT0':[ a ] , # first
		               'INPUT1':[ b ] , # second
		             } ,
		   { 'OUTPUT0' : InferContext . ResultFormat . RAW   # back
		   , 'OUTPUT1' : \
		     InferContext.ResultFormat.RAW } , 1 )      # one at a time
		return r [ 'OUTPUT0' ] [ 0 ] , r [ 'OUTPUT1' ] [ 0 ]


	x , y = go ( np . array ( [ 1 , 2 , 3 ] , dtype = np.float32 ) , np.zeros(2, 'float32') )
	print ( x.tolist() , y.tolist() ) ; ctx . close ( ) # bye
